// What every page of the studio does.
import { themed } from "../theme.js";

themed();
document.getElementById("problem")?.focus();
document.documentElement.dataset.ready = "yes";
