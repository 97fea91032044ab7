// A Mosquitto of a test, with a listener for MQTT over TCP and one over WebSocket.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MOSQUITTO = "/usr/sbin/mosquitto";

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves once a port accepts connections. */
async function accepting(port, child) {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`mosquitto ended with ${child.exitCode}`);
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)));
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}

/** Starts a broker; returns {tcp, ws, restart(), stop()} with the addresses of its listeners. */
export async function startBroker() {
  const folder = mkdtempSync(join(tmpdir(), "godwit-js-"));
  const [tcp, ws] = [await freePort(), await freePort()];
  const file = join(folder, "mosquitto.conf");
  writeFileSync(file, `listener ${tcp} 127.0.0.1\nlistener ${ws} 127.0.0.1\nprotocol websockets\nallow_anonymous true\n`);
  let child;
  const start = async () => {
    child = spawn(MOSQUITTO, ["-c", file], { stdio: "ignore" });
    await accepting(tcp, child);
    await accepting(ws, child);
  };
  const end = async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  await start();
  return {
    tcp: `mqtt://127.0.0.1:${tcp}`,
    ws: `ws://127.0.0.1:${ws}`,
    restart: async () => {
      await end();
      await start();
    },
    stop: async () => {
      await end();
      rmSync(folder, { recursive: true });
    },
  };
}
