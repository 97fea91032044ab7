import Foundation
import TestSupport
import Testing

/// The decisions of the page's modules, in a real Chromium and in Node.js.
@Suite(.serialized, .timeLimit(.minutes(5))) struct MapModuleTests {
    /// `Tests/Page` has the tests of the modules that need no browser, and of the texts in both languages. `clients/js`
    /// is the JavaScript client, which shares modules with the page. Its tests start a broker and an agent.
    @Test(arguments: ["Tests/Page", "clients/js/test"]) func theModulesPassTheirTestsInNode(folder: String) async throws
    {
        let result = try await RunningProgram(
            "/usr/bin/node", ["--test", Programs.root.appending(path: folder).path()]
        ).result(within: .seconds(240))
        let failures = result.output.split(separator: "\nnot ok").dropFirst().map { $0.prefix(1500) }
        #expect(result.code == 0, "\(failures.joined(separator: "\n"))\(result.errors.suffix(2000))")
    }

    @Test func theOrderOfTheStreamCountsNotTheClockOfADevice() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        let reported = try await browser.script(
            """
            return import('/map/fleet.js').then(({ Fleet }) => {
              const fleet = new Fleet();
              const tell = (id, seq, time, lat, more) => fleet.happened('position', { trackable: id, ...more, location:
                { geometry: { coordinates: [0, lat] }, properties: { time, seq, stream: 's' } } }, seq * 1000);
              const seqs = (trail) => trail.map((point) => point.seq).join(',');
              tell('a', 1, 4600, 0);
              const a = tell('a', 2, 1000, 0.001);
              const back = a.place.lat;
              tell('a', 4, 1002, 0.003);
              tell('a', 3, 1001, 0.002, { late: true });
              const parts = [back, a.place.lat, seqs(a.trail), seqs(a.trailTo(4250)), seqs(a.trailTo(5001))];
              for (let i = 1; i <= 950; i += 1) tell('b', i, i, i * 1e-5);
              parts.push(fleet.byId.get('b').trail.length);
              const event = (time, late) => fleet.happened('event', { trackable: 'a', kind: 'X', time, late }, 0).lastEvent.time;
              parts.push(event(2000), event(1500, true), event(1500));
              fleet.happened('state', { trackable: 'c', state: 'ONLINE' }, 0);
              parts.push(fleet.listed.length);
              fleet.happened('position', { trackable: 'c' }, 0);
              fleet.happened('state', { trackable: 'c', state: 'OFFLINE' }, 0);
              parts.push(fleet.listed.length);
              return import('/map/text.js').then(({ age, ago }) =>
                [...parts, age(-5), age(-3600), ago(-3600), ago(1), ago(90)].map(String));
            })
            """, as: [String].self)
        let expected = [
            "0.001", "0.003", "2,3,4", "2", "2,3,4", "901", "2000", "2000", "1500", "3", "2", "now", "60 min ahead",
            "dated 60 min ahead", "just now", "90 s ago",
        ]
        #expect(reported == expected)
    }

    @Test func aDeviceWhoseClockIsAheadIsListedWithItsLead() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        let shown = try await browser.script(
            """
            return Promise.all([import('/map/fleet.js'), import('/map/panel.js'), import('/map/text.js')])
              .then(([{ Fleet }, { showPanel }, { age, clockAhead }]) => {
                const fleet = new Fleet();
                fleet.happened('state', { trackable: 'v', state: 'OFFLINE' }, 0);
                const parts = [fleet.listed.length];
                const van = fleet.happened('clock', { trackable: 'v', ahead: 85 }, 0);
                parts.push(fleet.listed.length, van.place === undefined, clockAhead(van.clockAhead));
                showPanel(van, 'ONLINE', undefined, 1000);
                parts.push(document.getElementById('panel-state').textContent);
                fleet.happened('clock', { trackable: 'v' }, 0);
                return [...parts, fleet.listed.length, age(-60), age(-61)].map(String);
              });
            """, as: [String].self)
        let expected = [
            "0", "1", "true", "clock of this device is 85 s ahead",
            "Online; no position; clock of this device is 85 s ahead", "0", "now", "61 s ahead",
        ]
        #expect(shown == expected)
    }

    @Test func aLineThatDiesIsFoundOutAndGoesOnWhereItWas() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        let reported = try await browser.script(
            """
            return import('/map/live.js').then(async ({ Live }) => {
              const made = [];
              window.EventSource = class {
                constructor(url) { this.url = url; this.listeners = {}; made.push(this); }
                addEventListener(name, listener) { this.listeners[name] = listener; }
                close() { this.isClosed = true; }
                tell(name, data, lastEventId = '') { this.listeners[name]({ data: JSON.stringify(data), lastEventId }); }
              };
              const heard = [];
              const handlers = {};
              for (const name of ['event', 'opened', 'time', 'reset', 'lost', 'ended', 'refused', 'replaced'])
                handlers[name] = () => heard.push(name);
              const live = new Live(handlers);
              const hello = (reader) => ({ stream: 's', heartbeat: 0.2, now: 1, resumed: false, reader });
              live.start();
              made[0].tell('hello', hello('one'));
              made[0].tell('heartbeat', { now: 2 }, 'e-7-1');
              const until = async (condition) => { while (!condition()) await new Promise((done) => setTimeout(done, 20)); };
              await until(() => made.length > 1);
              const parts = [heard.slice(0, 4).join(' '), made[0].isClosed, made[1].url];
              // A pause that has ended does not count again.
              live.stop();
              live.start();
              const real = Date.now;
              Date.now = () => real() + 600000;
              live.again();
              live.start();
              Date.now = real;
              parts.push(made[made.length - 1].url);
              // The stream of another user begins without events.
              heard.length = 0;
              made[made.length - 1].tell('hello', hello('two'));
              parts.push(heard.join(' '), made[made.length - 1].url);
              live.stop();
              return parts.map(String);
            })
            """, as: [String].self)
        let resumed = "/api/v1/live?lastEventId=e-7-1"
        #expect(reported == ["time opened time lost", "true", resumed, resumed, "time replaced", "/api/v1/live"])
        // A page that is hidden while it asks the gateway for the reason of a refusal opens no stream.
        let opened = try await browser.script(
            """
            return import('/map/live.js').then(async ({ Live }) => {
              const made = [];
              window.EventSource = class { constructor() { made.push(this); } addEventListener() {} close() {} };
              window.fetch = () => new Promise((done) => setTimeout(() => done(new Response('', { status: 502 })), 50));
              const live = new Live({ lost() {} });
              const pause = (time) => new Promise((done) => setTimeout(done, time));
              live.wait = 10;
              live.start();
              made[0].onerror();
              while (made.length < 2) await pause(20);
              const again = made.length;
              made[1].onerror();
              live.stop();
              await pause(500);
              return [again, made.length];
            })
            """, as: [Int].self)
        #expect(opened == [2, 2])
        // The page repeats the removal of a request until the gateway accepts it.
        let asked = try await browser.script(
            """
            return import('/map/live.js').then(async ({ Live }) => {
              const { requests } = new Live({});
              const sent = [];
              const answers = [204, 429, 0, 204];
              requests.send = async (stream, id, { method }) => { sent.push(method); return { status: answers.shift() ?? 404 }; };
              const until = async (count) => { while (sent.length < count) await new Promise((done) => setTimeout(done, 20)); };
              requests.wait = 10;
              requests.stream = 's';
              requests.want(new Map([['a', 1]]));
              await until(1);
              requests.wait = 10;
              requests.want(new Map());
              await until(4);
              return sent;
            })
            """, as: [String].self)
        #expect(asked == ["POST", "DELETE", "DELETE", "DELETE"])
    }

    @Test func aSpanIsWhatWasPickedOrWrittenOnTheGatewaysClock() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        let reported = try await browser.script(
            """
            return import('/map/history.js').then(async ({ History, markGaps }) => {
              const asked = [];
              window.fetch = async (url) => { asked.push(String(url)); return new Response('{}', { status: 503 }); };
              const history = new History(() => {}, () => 1793000000.5);
              history.id = 'a';
              history.pick(3600);
              const [from, to] = ['from', 'to'].map((id) => document.getElementById(id));
              from.value = '2026-10-25T01:30:00';
              await history.load();
              to.value = '2026-10-26T20:00:00';
              to.dispatchEvent(new Event('input'));
              await history.load();
              const written = new Date(to.value).toISOString();
              const spans = asked.filter((url) => url.includes('/history?'))
                .map((url) => url.match(/from=([^&]*)&to=([^&]*)/).slice(1).join(' ').replace(written, 'written'));
              // The marker stays in place during a gap.
              history.points = markGaps([[0, 0], [10, 1], [20, 2], [7220, 3], [7230, 4]].map(([time, lng]) => ({ time, lng, lat: 0, speed: 9 })));
              const [within, behind] = [history.at(3620), history.at(7225)];
              return [...spans, within.lng, Boolean(within.isGap), Math.round(behind.lng * 10) / 10, Boolean(behind.isGap)].map(String);
            })
            """, as: [String].self)
        // At the end of daylight saving time, 01:00 UTC, an hour has two names.
        try await browser.move(toZone: "Europe/Dublin")
        try await browser.open(stage.url)
        let names = try await browser.script(
            """
            return import('/map/text.js').then(({ moment, preciseMoment }) => [1761434990, 1761438590, 1761442190, 1761445790]
              .map((time) => `${moment(time)} ${preciseMoment(time)}`.match(/2025|GMT[+]1|GMT/g).join(' ')))
            """, as: [String].self)
        #expect(names == ["2025 2025", "2025 GMT+1 2025 GMT+1", "2025 GMT 2025 GMT", "2025 2025"])
        let picked = "2026-10-26T06:33:20.000Z"
        let until = "2026-10-26T07:33:21.000Z"
        #expect(
            reported == ["\(picked) \(until)", "\(picked) \(until)", "\(picked) written", "2", "true", "3.5", "false"])
    }
}
