// What the other parts share: the data, the view, and short names for what the browser has.
const data = JSON.parse(document.getElementById("data").textContent);
const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
const one = (selector, root = document) => root.querySelector(selector);
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
const SVG = "http://www.w3.org/2000/svg";
const MIB = 2 ** 20;
const SHORTEST = 0.01;
const view = { from: 0, to: data.end };
const tip = one("#tip");
