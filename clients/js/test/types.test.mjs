// The type declarations name everything that the package exports, and every public method of its classes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as godwit from "../index.js";
import { SubscriberStreams } from "../streams.js";

const types = readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");

/** Returns the declared members of a class. */
function declared(name) {
  const [, body] = types.match(new RegExp(`export class ${name} [^{]*\\{([^]*?)\\n\\}`));
  return [...body.matchAll(/^ {2}(?:readonly )?([a-zA-Z]+)[(?:]/gm)].map(([, member]) => member);
}

test("every export has a declaration, and every declaration an export", () => {
  const names = [...types.matchAll(/^export (?:class|function) ([a-zA-Z]+)/gm)].map(([, name]) => name);
  assert.deepEqual(names.sort(), [...Object.keys(godwit), "SubscriberStreams"].sort());
});

test("the declared members of classes exist", () => {
  const { Animator, AssetSubscriber, GatewaySubscriber } = godwit;
  const instances = {
    SubscriberStreams: new SubscriberStreams(),
    Animator: new Animator(),
    AssetSubscriber: new AssetSubscriber({ broker: "mqtt://127.0.0.1" }),
    GatewaySubscriber: new GatewaySubscriber({ gateway: "http://127.0.0.1" }),
  };
  for (const [name, instance] of Object.entries(instances)) {
    for (const member of declared(name)) if (member !== "constructor") assert.ok(member in instance, `${name}.${member}`);
  }
});
