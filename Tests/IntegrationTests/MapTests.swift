import Foundation
import TestSupport
import Testing
import TrackingCore

/// The map in a real Chromium, with real Mosquitto, agent, recorder and `godwit serve`. Screenshots are saved in
/// `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapTests {
    // MARK: - Live

    @Test func oneSignsInAndSeesMarkersMove() async throws {
        let stage = try await MapStage()
        let agent = try stage.agent("van-7")
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        try await browser.wait(for: "the door", until: "document.querySelector('#door').open")
        try await stage.keep(try await browser.screenshot(), "sign-in")
        try await browser.type("gw_wrong", into: "#token")
        let note = "document.querySelector('#door-note').textContent"
        // An unreachable gateway does not mean that the token is invalid.
        try await browser.script(
            "window.real = window.fetch; window.fetch = () => Promise.reject(new TypeError('away')); return true",
            as: Bool.self
        ).isTrue()
        try await browser.click("#sign-in button")
        try await browser.wait(for: "that it is away", until: "\(note).includes('cannot answer')")
        try await browser.script("window.fetch = window.real; return true", as: Bool.self).isTrue()
        try await browser.click("#sign-in button")
        try await browser.wait(for: "that it is wrong", until: "\(note).includes('not valid')")
        try await browser.script("document.querySelector('#token').value = ''; return true", as: Bool.self).isTrue()
        try await stage.signIn(browser)
        try await browser.wait(for: "the van in the list", until: "document.querySelector('#list .ONLINE')")
        try await browser.click("#list [role=option]")
        try await browser.wait(for: "the panel", until: "!document.querySelector('#panel').hidden")
        // The trackable moves: its place in the panel changes repeatedly.
        let place =
            "[...document.querySelectorAll('#facts dt')].find(e => e.textContent === 'Place').nextSibling.textContent"
        let first = try await browser.script("return \(place)", as: String.self)
        try await browser.wait(for: "another place", until: "\(place) !== '\(first)'")
        try await browser.click("#zoom")
        try await browser.wait(
            for: "the resolution that was asked for",
            until: "document.querySelector('#facts').textContent.includes('this page requests high, every 1 s')")
        try await browser.wait(
            for: "the resolution in force",
            until: "document.querySelector('#facts').textContent.includes('Resolutionhigh, every 1 s')")
        try await browser.script(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'F', bubbles: true })); return true",
            as: Bool.self
        ).isTrue()
        try await browser.wait(
            for: "that it is followed",
            until: "document.querySelector('#follow').getAttribute('aria-pressed') === 'true'")
        // There is no condition: the saved picture should show a trail.
        try await Task.sleep(for: .seconds(3))
        try await stage.keep(try await browser.screenshot(), "live")
        let name = "document.querySelector('#panel-name').textContent"
        _ = try await stage.run(["trackables", "set", "van-7", "name=The van"])
        try await browser.wait(for: "a name that is given meanwhile", until: "\(name) === 'The van'")
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
        // A user whose token is revoked sees nothing, and the next user sees only the trackables of the new token.
        let other = try stage.agent("bike-3")
        try await browser.wait(
            for: "both", until: "document.querySelectorAll('#list [role=option]').length === 2")
        let narrow = try await stage.run(["token", "create", "--name", "narrow", "--read", "bike-3"])
        _ = try await stage.run(["token", "revoke", "desk"])
        try await browser.wait(for: "the door", until: "document.querySelector('#door').open")
        let isEmpty =
            "document.querySelectorAll('#list [role=option]').length === 0 && document.querySelector('#panel').hidden"
        try await browser.wait(for: "that nothing is shown", until: isEmpty)
        #expect(try await browser.script("return \(note)", as: String.self).contains("no longer valid"))
        try await stage.signIn(browser, with: narrow)
        try await browser.wait(for: "the bike alone", until: "document.querySelector('#list .ONLINE')")
        #expect(
            try await browser.script("return document.querySelector('#list').innerText", as: String.self)
                .contains("van") == false)
        withExtendedLifetime((agent, other)) {}
    }

    @Test func aHiddenPageAsksForNothing() async throws {
        let stage = try await MapStage()
        let tap = try await WireTap.listen(to: stage.broker)
        let agent = try stage.agent("van-7")
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "the van", until: "document.querySelector('#list .ONLINE')")
        try await browser.script(
            "document.querySelector('#list [role=option]').dispatchEvent(new MouseEvent('dblclick', {bubbles: true})); return true",
            as: Bool.self
        ).isTrue()
        try await stage.resolution(1_000, tap)
        try await browser.hide()
        try await browser.wait(for: "that it is hidden", until: "document.hidden")
        try await stage.resolution(20_000, tap)
        let requests = tap.messages.filter { $0.topic.hasPrefix("tracking/van-7/request/") }
        #expect(try #require(requests.last).payload.isEmpty)
        try await browser.show()
        try await stage.resolution(1_000, tap)
        withExtendedLifetime(agent) {}
    }

    /// Two trackables that are a degree apart on both sides of the antimeridian are shown beside each other, and so are
    /// the places of a line.
    @Test func theAntimeridianIsNoEdge() async throws {
        let stage = try await MapStage()
        for (id, longitude) in [("east", 179.5), ("west", -179.5)] {
            let payload = """
                {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[\(longitude),10]},"properties":\
                {"time":\(Date().timeIntervalSince1970)}},"skippedLocations":[],"intermediateLocations":[],"type":"ACTUAL"}
                """
            let sent = try await RunningProgram(
                "/usr/bin/mosquitto_pub",
                ["-p", "\(stage.broker.port)", "-q", "1", "-r", "-t", "tracking/\(id)", "-m", payload]
            ).result()
            #expect(sent.code == 0, "\(sent.errors)")
        }
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        try await browser.wait(
            for: "both", until: "document.querySelectorAll('#list [role=option]').length === 2")
        try await browser.click("#fit")
        for (id, side) in [("east", -1), ("west", 1), ("east", -1)] {
            // The expected position when both fill the map as far as a whole zoom level allows.
            try await browser.script(
                """
                document.querySelector('#close').click();
                document.querySelector('#fit').click();
                const map = document.querySelector('#map'), box = map.getBoundingClientRect();
                const zoom = Math.min(16, Math.floor(Math.log2((box.width - 100) * 360 / 256)));
                const x = box.left + box.width / 2 + (\(side)) * 0.5 * 256 * 2 ** zoom / 360;
                map.dispatchEvent(new MouseEvent('click',
                  { bubbles: true, clientX: Math.round(x), clientY: Math.round(box.top + box.height / 2) }));
                return true
                """, as: Bool.self
            ).isTrue()
            try await browser.wait(
                for: "\(id) chosen", until: "document.querySelector('#panel-name').textContent === '\(id)'")
        }
        try await stage.keep(try await browser.screenshot(), "antimeridian")
        let line = try await browser.script(
            """
            return import('/map/layers.js').then(({ drawLine }) => {
              const xs = [], note = (x) => xs.push(x);
              drawLine({ beginPath() {}, stroke() {}, moveTo: note, lineTo: note }, { middle: 179, x: (lng) => lng, y: (lat) => lat },
                [178.5, 179.5, -179.5].map((lng) => ({ lat: 10, lng })), 'red', 1);
              return xs.sort((a, b) => a - b);
            })
            """, as: [Double].self)
        #expect(line == [178.5, 179.5, 180.5])
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
    }

    @Test func aClearedPositionIsNotShown() async throws {
        let stage = try await MapStage()
        func publish(_ options: [String]) async throws {
            let sent = try await RunningProgram(
                "/usr/bin/mosquitto_pub",
                ["-p", "\(stage.broker.port)", "-q", "1", "-r", "-t", "tracking/van-9"] + options
            ).result()
            #expect(sent.code == 0, "\(sent.errors)")
        }
        func position(at time: Double) -> String {
            """
            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5125]},"properties":\
            {"time":\(time)}},"skippedLocations":[],"intermediateLocations":[],"type":"ACTUAL"}
            """
        }
        let now = Date().timeIntervalSince1970
        try await publish(["-m", position(at: now)])
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "the van", until: "document.querySelector('#list [role=option]')")
        try await browser.click("#list [role=option]")
        let place = "document.querySelector('#facts').textContent.includes('52.51250')"
        try await browser.wait(for: "its place", until: place)
        try await publish(["-n"])
        try await browser.wait(for: "that its place is gone", until: "!\(place)")
        let trail = """
            return import('/map/fleet.js').then(({ Fleet }) => {
              const fleet = new Fleet();
              const one = fleet.happened('position', { trackable: 'a', ...\(position(at: now)) }, 0);
              const [before, drawn] = [one.trail.length, one.animator.frame(1) !== undefined];
              fleet.happened('position', { trackable: 'a' }, 2);
              return [before, drawn ? 1 : 0, one.trail.length, one.animator.frame(3) === undefined ? 0 : 1, fleet.placed.length];
            })
            """
        #expect(try await browser.script(trail, as: [Int].self) == [1, 1, 0, 0, 0])
        try await publish(["-m", position(at: now + 1)])
        try await browser.wait(for: "a new beginning", until: place)
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
        // No message reports a position that is cleared while no gateway runs. The page starts again with the next
        // gateway.
        try await stage.restart { try await publish(["-n"]) }
        try await browser.wait(
            for: "that it is gone", until: "document.querySelectorAll('#list [role=option]').length === 0")
        #expect(try await browser.script("return document.querySelector('#panel').hidden", as: Bool.self))
    }

    // MARK: - What was

    @Test func theHistoryIsShownAndScrubbed() async throws {
        let stage = try await MapStage(hasDrive: true)
        let agent = try stage.agent("van-7")
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "the van", until: "document.querySelector('#list .ONLINE')")
        try await browser.click("#list [role=option]")
        try await browser.click("#past")
        try await browser.wait(for: "the track", until: "!document.querySelector('#replay').hidden")
        let late = try await browser.script("return document.querySelector('#scrubbed').textContent", as: String.self)
        try await browser.script(
            "const s = document.querySelector('#scrub'); s.value = 400; s.dispatchEvent(new Event('input')); return true",
            as: Bool.self
        ).isTrue()
        let early = try await browser.script("return document.querySelector('#scrubbed').textContent", as: String.self)
        #expect(early != late)
        #expect(try await browser.script("return document.querySelectorAll('#trips li').length", as: Int.self) > 0)
        try await stage.keep(try await browser.screenshot(), "history")
        // The later selection counts, in any order of the answers.
        let gpx = "document.querySelector('#as-gpx').href"
        try await browser.script(
            """
            const real = window.real = window.fetch;
            const late = (answer) => new Promise((done) => setTimeout(() => { window.isLate = answer.name; done(answer); }, 1000));
            let count = 0;
            window.fetch = (url, options) => {
              const asked = real(url, options);
              return String(url).includes('/history?') && count++ === 0 ? asked.then(late, late) : asked;
            };
            document.querySelector('[data-span="604800"]').click();
            document.querySelector('[data-span="21600"]').click();
            return true
            """, as: Bool.self
        ).isTrue()
        try await browser.wait(for: "the later choice", until: "!document.querySelector('#replay').hidden")
        let chosen = try await browser.script("return \(gpx)", as: String.self)
        try await browser.wait(for: "that nobody waits for the former", until: "window.isLate === 'AbortError'")
        // There is no condition for the absence of a change.
        try await Task.sleep(for: .milliseconds(200))
        #expect(try await browser.script("return \(gpx)", as: String.self) == chosen)
        // A failed request is not shown as an empty history.
        let note = "document.querySelector('#history-note').textContent"
        try await browser.script(
            "window.fetch = () => Promise.resolve(new Response('{}', { status: 503 })); document.querySelector('[data-span=\"3600\"]').click(); return true",
            as: Bool.self
        ).isTrue()
        try await browser.wait(for: "why there is none", until: "\(note).includes('cannot answer')")
        try await browser.script(
            "window.fetch = window.real; document.querySelector('[data-span=\"3600\"]').click(); return true",
            as: Bool.self
        ).isTrue()
        try await browser.wait(for: "the track", until: "!document.querySelector('#replay').hidden")
        try await browser.script(
            "const s = document.querySelector('#scrub'); s.value = 400; s.dispatchEvent(new Event('input')); return true",
            as: Bool.self
        ).isTrue()
        try await browser.click("#play")
        try await browser.wait(
            for: "the replay", until: "document.querySelector('#scrubbed').textContent !== '\(early)'")
        for format in ["gpx", "geojson", "csv"] {
            let type = try await browser.script(
                "return fetch(document.querySelector('#as-\(format)').href).then(r => r.ok && r.headers.get('content-type'))",
                as: String.self)
            #expect(!type.isEmpty)
        }
        withExtendedLifetime(agent) {}
    }

    /// The line has a gap where points are missing, by the rule of docs/reference/map.md.
    @Test func theLineIsBrokenWherePointsAreMissing() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        // Five points a second apart, six minutes, three points, a gap that the gateway reports, two points, and one
        // simplification; then six minutes of a slow tracker.
        let gaps = try await browser.script(
            """
            return import('/map/history.js').then(({ markGaps }) => {
              const points = [0, 1, 2, 3, 4, 364, 365, 366, 367, 368].map((time, i) => ({ time, isInterrupted: i === 8 }));
              const slow = [0, 360, 720].map((time) => ({ time }));
              return [[points, false], [points, true], [slow, false]].map(([list, isSimplified]) =>
                markGaps(list, isSimplified).map((p, i) => p.isAfterGap ? i : -1).filter((i) => i >= 0));
            })
            """, as: [[Int]].self)
        #expect(gaps == [[5, 8], [8], []])
        let drawn = try await browser.script(
            """
            return import('/map/layers.js').then(({ drawLine }) => {
              const calls = [];
              const context = { beginPath() {}, stroke() {}, moveTo(x) { calls.push(`m${x}`); }, lineTo(x) { calls.push(`l${x}`); } };
              const places = [1, 2, 3, 4].map((lng) => ({ lng, lat: 0, isAfterGap: lng === 3 }));
              const view = { middle: 0, x: (lng) => lng, y: (lat) => lat };
              drawLine(context, view, places, 'red', 1);
              const plain = calls.splice(0).join(' ');
              drawLine(context, view, places, () => 'red', 1);
              return [plain, calls.join(' ')];
            })
            """, as: [String].self)
        #expect(drawn == ["m4 l3 m2 l1", "m3 l4 m1 l2"])
        // The page repeats a rejected request for a known trackable, but not one for an unknown trackable.
        let asked = try await browser.script(
            """
            return import('/map/live.js').then(async ({ Live }) => {
              const { requests } = new Live({});
              const asked = [];
              const answers = { a: [429, 0, 204], b: [404] };
              requests.send = async (stream, id) => { asked.push(id); return { status: answers[id].shift() ?? 204 }; };
              requests.wait = 10;
              requests.want(new Map([['a', 1], ['b', 2]]));
              requests.stream = 's';
              requests.tell();
              const pass = (time) => new Promise((done) => setTimeout(done, time));
              for (let round = 0; round < 600 && asked.length < 4; round += 1) await pass(100);
              await pass(300);
              return asked;
            })
            """, as: [String].self)
        #expect(asked == ["a", "a", "a", "b"])
    }

    /// Between updates, the page's animator draws the positions of `LocationAnimator`.
    @Test func thePagesAnimatorIsLocationAnimator() async throws {
        let table = try AnimatorCase.all.map { try $0.played() }
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        let script = String(decoding: try JSONEncoder().encode(AnimatorCase.all), as: UTF8.self)
        let frames = try await browser.script(
            """
            return import('/map/animator.js').then(({ Animator }) => \(script).map(({ interval, delay, snap, steps }) => {
              const animator = new Animator(interval, { delay, snapDistance: snap });
              return steps.map(({ now, places, snaps }) => {
                if (snaps) animator.snap();
                if (places.length > 0) animator.updated(places, now);
                const frame = animator.frame(now);
                return frame ? [frame.lat, frame.lng, frame.bearing ?? -1, frame.hasRunOut ? 1 : 0] : [];
              });
            }))
            """, as: [[[Double]]].self)
        #expect(frames.count == table.count)
        for (index, (reported, expected)) in zip(frames, table).enumerated() {
            #expect(reported.count == expected.count)
            for (step, (one, other)) in zip(reported, expected).enumerated() {
                let isSame = one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) < 1e-9 }
                #expect(isSame, "case \(index), step \(step): the page \(one), LocationAnimator \(other)")
            }
        }
    }

    @Test func aThousandMarkersMoveOnOneCanvas() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start(isDark: true)
        try await stage.signIn(browser)
        // The number of frames that an empty page gets in the same Chromium.
        let frames =
            "const start = performance.now(); let n = 0; return new Promise(done => { const step = () => { n += 1; performance.now() - start < 2000 ? requestAnimationFrame(step) : done(n); }; step(); })"
        let empty = try await browser.script(frames, as: Int.self)
        let swarm = try await Swarm.start(1_000, on: stage.broker)
        try await browser.wait(
            for: "all of them", until: "Number(document.querySelector('#count').textContent) >= 1000")
        // There is no condition: the work for the page's first updates is not part of the measurement.
        try await Task.sleep(for: .seconds(1))
        let painted = try await browser.script(
            "const n = godwitFrames; return new Promise(done => setTimeout(() => done(godwitFrames - n), 2000))",
            as: Int.self)
        try await stage.keep(try await browser.screenshot(), "thousand")
        // `make bench` requires a share of the frames, on an otherwise idle machine. This test only requires movement.
        let share = Double(painted) / Double(empty)
        let least = ProcessInfo.processInfo.environment["GODWIT_FRAMES"].flatMap { Double($0) } ?? 0
        let verdict = share >= 0.5 ? "ok" : "MISSED"
        print(
            "| map: frames in 2 s with 1,000 moving markers, beside an empty page | \(empty) | \(painted) | "
                + String(format: "%.2f × | ≥ 0.5 × | \(verdict) |", share))
        #expect(painted > 0 && share >= least)
        withExtendedLifetime(swarm) {}
    }
}

extension Bool {
    fileprivate func isTrue() { #expect(self) }
}
