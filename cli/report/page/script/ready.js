// All is drawn: what follows the window, and the paper.
if (one(".plots")) {
  addToolbar();
  all("[data-zoom]").forEach((button) => button.addEventListener("click", () => pan(button.dataset.zoom)));
  all("details").forEach((each) => each.addEventListener("toggle", show));
  addEventListener("resize", show);
  show();
}
addEventListener("beforeprint", () => all("details:not(.told)").forEach((each) => { each.open = true; }));
document.documentElement.dataset.ready = "yes";
