// Forms and fragments: a form is sent, the page that comes back takes the place of this one; nothing else is here.
// Without this script every form still works, but for the upload of a table.
"use strict";

const find = (selector, root = document) => root.querySelector(selector);
const every = (selector, root = document) => [...root.querySelectorAll(selector)];
const parse = (text) => new DOMParser().parseFromString(text, "text/html");
const headers = { "X-Fragment": "1" };
const broken = '<p class="bad">Something went wrong inside. Load the page again.</p>';
let timers = [];

function say(text) {
  find("#said").textContent = text;
}

function showProblem(text) {
  const place = find("#problem");
  const found = find(".problem", parse(text));
  place.replaceChildren(...(found ? [found] : []));
  if (found) {
    place.scrollIntoView({ block: "nearest" });
    find("h2", place).focus();
  }
}

function showPage(text, address) {
  const page = parse(text);
  const focused = document.activeElement && document.activeElement.id;
  timers.forEach(clearTimeout);
  timers = [];
  document.title = page.title;
  document.body.dataset.revision = page.body.dataset.revision;
  for (const part of ["steps", "page"]) find(`#${part}`).replaceWith(find(`#${part}`, page));
  if (address) history.pushState({}, "", address);
  begin();
  const again = focused && document.getElementById(focused);
  if (again) again.focus({ preventScroll: true });
}

async function send(form, button) {
  const body = new FormData(form, button);
  const address = (button && button.formAction && button.getAttribute("formaction")) || form.getAttribute("action");
  const into = button && button.dataset.into;
  const target = into && find(into);
  form.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { method: "POST", body, headers });
    const text = await answer.text();
    if (!answer.ok) return showProblem(text);
    find("#problem").replaceChildren();
    if (target) {
      target.dataset.form = form.id;
      target.dataset.address = address;
      fill(target, text);
    } else {
      showPage(text, answer.url);
      say(form.dataset.said || "Saved");
    }
  } catch {
    offline();
  } finally {
    form.removeAttribute("aria-busy");
  }
}

function offline() {
  say("The studio does not answer. Is it still running?");
  find("#offline").hidden = false;
}

function fill(place, text) {
  const parts = parse(text).body;
  const focused = place.contains(document.activeElement) && document.activeElement.id;
  place.replaceChildren(...parts.childNodes);
  begin(place);
  if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
  const polled = find("[data-poll]", place);
  if (polled) timers.push(setTimeout(() => reload(place), Number(polled.dataset.poll)));
  else if (place.getAttribute("aria-busy")) place.removeAttribute("aria-busy");
  if (find("[data-reload]", place)) show(location.href);
}

async function reload(place) {
  if (!place.isConnected) return;
  const form = place.dataset.form && document.getElementById(place.dataset.form);
  try {
    const answer = form
      ? await fetch(place.dataset.address, { method: "POST", body: new FormData(form), headers })
      : await fetch(place.dataset.load, { headers });
    const text = await answer.text();
    if (!place.isConnected) return;
    fill(place, answer.ok || find(".problem", parse(text)) ? text : broken);
    find("#offline").hidden = true;
  } catch {
    offline();
    timers.push(setTimeout(() => reload(place), 2000));
  }
}

async function show(address) {
  const answer = await fetch(address, { headers });
  showPage(await answer.text(), null);
}

function upload(file) {
  const bar = find("#upload-bar");
  const request = new XMLHttpRequest();
  bar.hidden = false;
  request.upload.onprogress = (event) => {
    bar.value = event.loaded / event.total;
    say(`${Math.round((100 * event.loaded) / event.total)} % of ${file.name}`);
  };
  request.onload = () => {
    bar.hidden = true;
    request.status < 400 ? showPage(request.responseText, request.responseURL) : showProblem(request.responseText);
  };
  request.onerror = offline;
  request.open("POST", "/data/upload");
  request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
  request.setRequestHeader("X-Fragment", "1");
  request.send(file);
}

function receiveFiles(zone) {
  const input = find("input[type=file]", zone);
  input.onchange = () => input.files.length && upload(input.files[0]);
  zone.ondragover = (event) => {
    event.preventDefault();
    zone.classList.add("over");
  };
  zone.ondragleave = () => zone.classList.remove("over");
  zone.ondrop = (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) upload(event.dataTransfer.files[0]);
  };
}

function filter(input) {
  const wanted = input.value.toLowerCase();
  for (const row of every(`${input.dataset.filter} tbody tr`)) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
  }
}

function begin(root = document) {
  every("[data-load]", root).forEach((place) => {
    place.setAttribute("aria-busy", "true");
    place.closest("details:not([open])") ? (place.closest("details").ontoggle = () => reload(place)) : reload(place);
  });
  every("[data-drop]", root).forEach(receiveFiles);
}

document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  event.preventDefault();
  const sure = event.submitter && event.submitter.dataset.sure;
  if (!sure || confirm(sure)) send(event.target, event.submitter);
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-now]")) event.target.form.requestSubmit();
  if (event.target.matches("[data-go]")) event.target.form.submit();
  if (event.target.matches("[data-all]")) {
    every(event.target.dataset.all).forEach((box) => (box.checked = event.target.checked && !box.closest("tr").hidden));
  }
});

document.addEventListener("input", (event) => {
  const other = event.target.dataset.twin && document.getElementById(event.target.dataset.twin);
  if (other) other.value = event.target.value;
  if (event.target.matches("[data-filter]")) filter(event.target);
  if (event.target.matches("[data-zoom]")) {
    every(`${event.target.dataset.zoom} svg`).forEach((svg) => (svg.style.width = `${event.target.value}%`));
  }
});

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    navigator.clipboard.writeText(find(copy.dataset.copy).textContent);
    say("Copied");
  }
});

async function lookElsewhere() {
  if (document.hidden) return;
  try {
    const { revision } = await (await fetch("/state")).json();
    find("#elsewhere").hidden = String(revision) === document.body.dataset.revision;
    find("#offline").hidden = true;
  } catch {
    offline();
  }
}

find("#elsewhere button").addEventListener("click", () => {
  find("#elsewhere").hidden = true;
  show(location.href);
});
document.addEventListener("visibilitychange", lookElsewhere);
setInterval(lookElsewhere, 4000);
addEventListener("popstate", () => show(location.href));
begin();
