// SPDX-License-Identifier: Apache-2.0
// folding: shows a table as lists of named values while it does not fit into its card.

const PHONE = matchMedia("(max-width: 719px)");

// Folds a frame that holds a table. Only another width unfolds it, so figures that change do not
// move the page. The size is read in the next frame of the screen: an observer that changes sizes
// itself reports an error.
export function foldable(frame) {
  const {classList} = frame;
  let width = 0;
  const fold = () => {
    if (frame.clientWidth !== width) classList.remove("folded");
    width = frame.clientWidth;
    if (PHONE.matches || frame.scrollWidth > width) classList.add("folded");
  };
  const observer = new ResizeObserver(() => requestAnimationFrame(fold));
  observer.observe(frame);
  observer.observe(frame.firstElementChild);
}
