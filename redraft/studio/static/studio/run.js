// The page of a run in the studio: its menus, and opinions on its findings.
import "./menus.js";
import "./opinions.js";
