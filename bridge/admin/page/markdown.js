// SPDX-License-Identifier: Apache-2.0
// markdown: turns the part of Markdown that the runbook uses into nodes: headings, paragraphs,
// lists, tables, code and links.

import {el} from "./dom.js";

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)/g;

function inline(text, link) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, code, bold, words, to] = found;
    nodes.push(
      text.slice(from, found.index),
      code !== undefined
        ? el("code", {}, code)
        : bold !== undefined
          ? el("strong", {}, bold)
          : link(words, to),
    );
    from = found.index + all.length;
  }
  return [...nodes, text.slice(from)];
}

// The anchor that Git hosts give a heading.
function anchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

function cells(line) {
  return line
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

function tableOf(lines, link) {
  const [head, , ...rows] = lines.map(cells);
  const empty = head.every((cell) => cell === "");
  return el(
    "div",
    {class: "scroll"},
    el(
      "table",
      {},
      empty
        ? null
        : el(
            "thead",
            {},
            el(
              "tr",
              {},
              head.map((cell) =>
                cell === "" ? el("td", {}) : el("th", {scope: "col"}, inline(cell, link)),
              ),
            ),
          ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            row.map((cell) => el("td", {}, inline(cell, link))),
          ),
        ),
      ),
    ),
  );
}

function listOf(lines, link) {
  const items = [];
  for (const line of lines)
    if (/^([-*]|\d+\.) /.test(line)) items.push(line.replace(/^([-*]|\d+\.) /, ""));
    else items[items.length - 1] += ` ${line.trim()}`;
  return el(
    /^\d/.test(lines[0]) ? "ol" : "ul",
    {},
    items.map((item) => el("li", {}, inline(item, link))),
  );
}

function block(lines, link) {
  const [first] = lines;
  const heading = /^(#+) (.*)/.exec(first);
  if (first.startsWith("```"))
    return el("pre", {tabindex: 0}, el("code", {}, lines.slice(1, -1).join("\n")));
  if (heading !== null)
    return el(
      `h${heading[1].length}`,
      {id: `runbook-${anchor(heading[2])}`, tabindex: -1},
      inline(heading[2], link),
    );
  if (first.startsWith("|")) return tableOf(lines, link);
  if (/^([-*]|\d+\.) /.test(first)) return listOf(lines, link);
  return first.startsWith("<!--") ? null : el("p", {}, inline(lines.join(" "), link));
}

// Blank lines separate blocks, except in code.
function blocksOf(text) {
  const blocks = [[]];
  let code = false;
  for (const line of text.split("\n")) {
    const fence = line.startsWith("```");
    if ((line === "" && !code) || (fence && !code) || line.startsWith("#")) blocks.push([]);
    if (line !== "" || code) blocks.at(-1).push(line);
    code = fence ? !code : code;
    if (fence && !code) blocks.push([]);
  }
  return blocks.filter((lines) => lines.length > 0);
}

// link(words, to) returns the node of a link.
export function render(text, link) {
  return blocksOf(text)
    .map((lines) => block(lines, link))
    .filter((node) => node !== null);
}
