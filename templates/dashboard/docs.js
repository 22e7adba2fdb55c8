// The filter, and a link to an operation opens it; without this script both are merely not there.
"use strict";
(() => {
  const filter = document.querySelector(".filter");
  const input = filter.querySelector("input");
  const links = [...document.querySelectorAll("nav li")];
  const operations = [...document.querySelectorAll(".operation")];
  const summary = (it) => it.querySelector("summary").textContent.toLowerCase();
  const entries = operations.map((it, index) => ({ it, link: links[index], text: summary(it) }));
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { it, link, text } of entries) {
      link.hidden = it.hidden = !words.every((word) => text.includes(word));
    }
    for (const group of document.querySelectorAll("nav details, .group")) {
      group.hidden = !group.querySelector("li:not([hidden]), .operation:not([hidden])");
    }
    document.querySelector(".nothing").hidden = entries.some(({ it }) => !it.hidden);
  };
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const operation = target && target.closest(".operation");
    if (!operation) return;
    operation.open = true;
    operation.scrollIntoView();
  };
  filter.hidden = false;
  input.addEventListener("input", apply);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    }
  });
  window.addEventListener("hashchange", open);
  // A link to where the page stands already changes nothing that could be heard.
  document.querySelector("nav").addEventListener("click", () => setTimeout(open));
  apply();
  open();
})();
