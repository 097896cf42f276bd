// A button behind each command that copies it. Where the browser refuses the clipboard, the command is selected instead.
const written = async (text, node) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
};
const commands = all("code.command");
const spoken = make("span", { className: "spoken", role: "status" });  // for screen readers
for (const command of commands) {
  const button = make("button", { type: "button", className: "copy", textContent: "copy", ariaLabel: `Copy ${command.textContent}` });
  const tellCopy = (word, sentence) => {
    commands.forEach((each) => { each.nextElementSibling.textContent = "copy"; });
    button.textContent = word;
    spoken.textContent = sentence;
  };
  button.addEventListener("click", async () => {
    if (await written(command.textContent, command)) tellCopy("copied", "The command is copied.");
    else tellCopy("selected: press Ctrl+C", "The command is selected. Press Control and C to copy it.");
  });
  command.after(button);
}
if (commands.length) document.body.append(spoken);
