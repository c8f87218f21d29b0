// Puts data on the page, as text and never as markup.

// What a reader could not see or would be misled by: control and direction characters, invisible ones, halves of
// surrogate pairs. Line breaks, tabs and the joiners of many scripts stay as they are.
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

function addText(parent, text) {
  let end = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > end) parent.append(text.slice(end, found.index));
    const code = document.createElement("span");
    code.className = "unseen";
    code.textContent = "U+" + found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parent.append(code);
    end = found.index + found[0].length;
  }
  if (end < text.length) parent.append(text.slice(end));
  return parent;
}

// Makes an element. Attributes are set by name, "on..." is a listener, and strings among the children are data.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    if (typeof child === "string" || typeof child === "number") addText(element, String(child));
    else element.append(child);
  }
  return element;
}

// A number with so many decimals as Python's tables have it: halfway between two the even one, where toFixed takes the
// larger. Forty more digits tell what is halfway from what is nearly so.
function fixed(number, digits) {
  const text = number.toFixed(digits);
  const dropped = number.toFixed(digits + 40).slice(-40);
  if (!/^50*$/.test(dropped) || Number(text.at(-1)) % 2 === 0) return text;
  return number.toFixed(digits + 1).slice(0, digits === 0 ? -2 : -1);
}

const percent = (share, digits = 1) => share === null ? "–" : fixed(100 * share, digits);
const counted = (count, one, many = one + "s") => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// Marks what was searched for, without touching the page's elements.
function highlight(root, words) {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("found");
  if (!words.length) return;
  const ranges = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue; // A letter that changes its length would shift the marks.
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}
