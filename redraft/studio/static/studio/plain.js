// A run that writes no summary: its calls, each with its prompt and its reply.
import "./page.js";
import { listCalls } from "../calls.js";
import { unpacked } from "../packed.js";

const root = document.querySelector("[data-calls]");
if (root) {
  const data = await unpacked("data");
  listCalls(root, data.calls, data.run, data);
}
