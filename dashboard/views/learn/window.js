// Reports when the window becomes too narrow for plots side by side, or wide again.
export default function ({ data, setStateValue }) {
  const narrow = window.matchMedia("(max-width: 600px)");
  const tell = () => { if (narrow.matches !== data.narrow) setStateValue("narrow", narrow.matches); };
  narrow.addEventListener("change", tell);
  tell();
  return () => narrow.removeEventListener("change", tell);
}
