// The HTTP API, as its own description tells it.
import { h } from "../lib/dom.js";

export async function show() {
  const answer = await fetch("/api/v1/openapi.json");
  const { paths } = await answer.json();
  return { content: [
    h("h1", null, "HTTP API"),
    h("p", { className: "lead" }, "Every page has its JSON here. Programs send the token as ", h("code", null, "Authorization: Bearer TOKEN"), ". The whole description: ", h("a", { href: "/api/v1/openapi.json", target: "_blank" }, "openapi.json"), "."),
    Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, one]) => h("details", { className: "card" }, h("summary", null, h("code", null, `${method.toUpperCase()} ${path}`), " ", (one.description ?? one.summary).replaceAll("`", "")),
      h("ul", { className: "lines" }, (one.parameters ?? []).map((parameter) => h("li", null, h("code", null, parameter.name), ` (${parameter.in}${parameter.required ? ", required" : ""}) ${parameter.description ?? ""}`)))))),
  ].flat() };
}
