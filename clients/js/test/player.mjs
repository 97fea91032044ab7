// Plays the scenario files of Tests/Scenarios, which the Swift tests play too.
//
// A line without indentation is an input, a line that begins with "  -> " is an answer, and # begins a comment.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const SCENARIOS = new URL("../../../Tests/Scenarios/", import.meta.url);

function stepsOf(text) {
  const steps = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("  -> ")) steps.at(-1).expected.push(line.slice(5));
    else if (line !== "" && !line.startsWith("#")) steps.push({ line, expected: [] });
  }
  return steps;
}

/**
 * Makes one test of each scenario of a folder.
 *
 * @param begin returns a function that passes the words of an input to a machine and returns its answers
 * @param skipped the scenarios that are not played, each with its reason, by the name of the file
 */
export function playScenarios(folder, begin, skipped = {}) {
  const files = readdirSync(new URL(folder, SCENARIOS)).filter((name) => name.endsWith(".txt")).sort();
  test(`there are scenarios of ${folder}`, () => assert.ok(files.length >= 5));
  for (const name of files) {
    test(`${folder}/${name}`, { skip: skipped[name] }, () => {
      const play = begin();
      for (const { line, expected } of stepsOf(readFileSync(new URL(`${folder}/${name}`, SCENARIOS), "utf8"))) {
        assert.deepEqual(play(line.split(" ").filter((word) => word !== "")), expected, line);
      }
    });
  }
}

/** Returns the word after a name; undefined if the name is not among the words. */
export function valueAfter(name, words) {
  const index = words.indexOf(name);
  return index < 0 ? undefined : words[index + 1];
}

/** Returns a duration in seconds in milliseconds. */
export const milliseconds = (seconds) => Math.round(Number(seconds) * 1000);

/** Passes time until `end`, deadline after deadline; `fire` fires the timers. Returns all answers. */
export function passTime(clock, end, deadline, fire) {
  const answers = [];
  for (let due = deadline(); due <= end; due = deadline()) {
    clock.now = Math.max(clock.now, due);
    answers.push(...fire());
  }
  clock.now = end;
  return answers;
}

const encoder = new TextEncoder();

/** Returns the payload with this text or JSON. */
export const payloadOf = (value) => encoder.encode(typeof value === "string" ? value : JSON.stringify(value));
