// What the other parts share: the data, and short names for what the browser has. Texts are set as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
const one = (selector, root = document) => root.querySelector(selector);
const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
const svg = (tag, attributes = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...children);
  return node;
};
const styled = (node, properties) => {
  Object.assign(node.style, properties);
  return node;
};
const MIB = 2 ** 20;
const SHORTEST = 0.01;
const tip = one("#tip");
