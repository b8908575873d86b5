// SPDX-License-Identifier: Apache-2.0
// dom: makes elements. Texts become text nodes, never markup: most come from foreign records.

const SVG = "http://www.w3.org/2000/svg";

// Adds a property: on, vars (custom properties of CSS), a DOM property such as value, or an
// attribute. The content security policy forbids style attributes, but not the CSSOM.
function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "on")
    for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
  else if (name === "vars")
    for (const [variable, text] of Object.entries(value)) node.style.setProperty(variable, text);
  else if (name === "value" || name === "checked") node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) set(node, name, value);
  node.append(...flat(children));
  return node;
}

function flat(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

export function el(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

export function replace(node, ...children) {
  node.replaceChildren(...flat(children));
}

// Writes only what differs, so that a screen reader does not read it again.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Updates the children of a node: one for each item, found again by its key. A button in a row that
// stays or moves keeps the focus. make returns {node, update}.
const rowsOf = new WeakMap();

export function keyed(parent, items, keyOf, make) {
  const old = rowsOf.get(parent) ?? new Map();
  const rows = new Map();
  const focused = document.activeElement;
  let at = parent.firstChild;
  for (const item of items) {
    const key = keyOf(item);
    const row = old.get(key) ?? make(item);
    row.update(item);
    rows.set(key, row);
    if (row.node === at) at = at.nextSibling;
    else parent.insertBefore(row.node, at);
  }
  for (const [key, row] of old) if (rows.get(key) !== row) row.node.remove();
  rowsOf.set(parent, rows);
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus();
}

let ids = 0;
export function freshId(name) {
  ids += 1;
  return `${name}-${ids}`;
}
