// The packets of MQTT.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as packets from "../transport/packets.js";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytesOf = (text) => Uint8Array.from(Buffer.from(text, "hex"));

test("packets have the bytes of the standard", () => {
  const will = { topic: "t/w", payload: Uint8Array.from([1, 2]), isRetained: true };
  const common = { client: "c", keepAlive: 30, will };
  assert.equal(hex(packets.connect("v5", common)), "101800044d515454052e001e00000163000003742f77" + "00020102");
  assert.equal(
    hex(packets.connect("v311", { ...common, username: "u", password: "p" })), "101c00044d51545404ee001e0001630003742f7700020102" + "000175000170");
  assert.equal(hex(packets.publish("v5", 7, { topic: "t", payload: Uint8Array.from([9]), isRetained: false })), "3207000174000700" + "09");
  assert.equal(hex(packets.publish("v311", 7, { topic: "t", payload: new Uint8Array(), isRetained: true })), "3305000174" + "0007");
  assert.equal(hex(packets.subscribe("v5", 8, ["a/+"])), "8209000800" + "0003612f2b01");
  assert.equal(hex(packets.unsubscribe("v311", 9, ["a"])), "a2050009000161");
  assert.equal(hex([...packets.puback(258), ...packets.pingreq(), ...packets.disconnect()]), "40020102" + "c000" + "e000");
});

test("packets are read from pieces of any size", () => {
  const stream = bytesOf("2006000003210014" + "320700017400070009" + "3105000174" + "0141" + "9004000800" + "01" + "d000" + "e0018e");
  const whole = new packets.PacketReader("v5").push(stream);
  const reader = new packets.PacketReader("v5");
  assert.deepEqual([...stream].flatMap((byte) => reader.push(Uint8Array.of(byte))), whole);
  assert.deepEqual(whole.map(({ type }) => type), ["connack", "publish", "publish", "suback", "pingresp", "disconnect"]);
  assert.equal(whole[0].receiveMaximum, 20);
  assert.deepEqual([whole[1].id, hex(whole[1].payload), whole[1].isRetained], [7, "09", false]);
  assert.deepEqual([whole[2].id, whole[2].isRetained], [undefined, true]);
  assert.deepEqual(whole[3].codes, [1]);
  assert.equal(whole[5].code, 0x8e);
});

test("a packet that is too large costs no memory, and the next one is read", () => {
  const payload = new Uint8Array(3_000_000);
  const large = packets.publish("v311", 1, { topic: "t", payload, isRetained: false });
  const [cut, next] = new packets.PacketReader("v311").push(Uint8Array.from([...large, ...packets.puback(5)]));
  assert.ok(cut.payload.length > 131_072 && cut.payload.length < packets.MAXIMUM_PACKET_BYTES);
  assert.equal(next.id, 5);
});

test("malformed packets end the connection with an error", () => {
  for (const damaged of ["30ffffffffff", "2001" + "00", "32020005", "f000", "40" + "0100"]) {
    assert.throws(() => new packets.PacketReader("v5").push(bytesOf(damaged)), { code: "connectionLost" }, damaged);
  }
});
