import Foundation
import TestSupport
import Testing
import TrackingCore

/// The marker on the road, on the map in a real Chromium with real Mosquitto and `godwit serve`. The test plays the
/// device and the enhancer. Screenshots are saved in `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapRoadTests {
    private let limit = Duration.seconds(60)
    /// `true` while the page names a road.
    private let hasRoad = """
        ([...document.querySelectorAll('#facts dt')].some(({ textContent }) => textContent === 'Road')
          || document.body.innerText.includes('Landstrasse'))
        """

    /// A road that turns right and left, and a view of the map that shows all of it.
    private static let road: [[Double]] = (0..<13).map { (step: Int) -> [Double] in
        let (north, east) = (Double(step / 2), Double((step + 1) / 2))
        return [47.160 + north * 0.0006, 9.510 + east * 0.0009]
    }

    /// Records the place and the time at which each frame draws the marker, and computes its distance from the road in
    /// metres.
    private static let recorder = """
        const road = \(road);
        const zoom = 17, scale = 256 * 2 ** zoom, centre = [47.1618, 9.5127];
        const mercator = ([lat, lng]) => {
          const sine = Math.sin(lat * Math.PI / 180);
          return [(lng + 180) / 360 * scale, (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * scale];
        };
        const map = document.querySelector('#map');
        const [left, top] = [mercator(centre)[0] - map.clientWidth / 2, mercator(centre)[1] - map.clientHeight / 2];
        const metres = window.metres = 40075016.686 * Math.cos(centre[0] * Math.PI / 180) / scale;
        window.pixel = (place) => { const [x, y] = mercator(place); return [x - left, y - top]; };
        const line = road.map(window.pixel);
        const fromStep = ([ax, ay], [bx, by], [x, y]) => {
          const share = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2);
          const kept = Math.max(0, Math.min(1, share));
          return Math.hypot(ax + kept * (bx - ax) - x, ay + kept * (by - ay) - y);
        };
        const fromRoad = (point) => metres * Math.min(...line.slice(1).map((end, i) => fromStep(line[i], end, point)));
        window.drawn = [];
        const { drawImage } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.drawImage = function (image, x, y, width, height) {
          if (width === 48 && height === 48) window.drawn.push({ x: x + 24, y: y + 24, at: performance.now(), away: fromRoad([x + 24, y + 24]) });
          return drawImage.apply(this, arguments);
        };
        window.isAt = (place) => {
          const last = window.drawn.at(-1);
          const [x, y] = window.pixel(place);
          return last !== undefined && Math.hypot(last.x - x, last.y - y) < 3;
        };
        return true
        """

    /// Returns the middle of a step of the road.
    private static func middle(_ step: Int) -> [Double] {
        zip(Self.road[step], Self.road[step + 1]).map { ($0 + $1) / 2 }
    }

    /// Returns the position of a step that the device publishes: 16 metres from its position on the road.
    private static func beside(_ step: Int) -> [Double] { zip(Self.middle(step), [0.0001, 0.00015]).map(+) }

    /// The kinds of updates about a fix.
    private enum Kind {
        /// The position as the device publishes it.
        case published
        /// The position on the road with the way round the corner to it, as an enhancer publishes it.
        case matched
        /// The position of the device, as an enhancer publishes it while its routing engine does not answer.
        case offRoad
    }

    /// Returns an update about the fix of a step.
    private static func update(_ kind: Kind, _ step: Int, at time: Double) throws -> LocationUpdate {
        func location(_ place: [Double]) throws -> Location {
            Location(
                coordinate: try #require(Coordinate(latitude: place[0], longitude: place[1])),
                time: UnixTime(time + Double(step)))
        }
        var fix = try location(kind == .matched ? Self.middle(step) : Self.beside(step))
        (fix.seq, fix.stream) = (UInt64(step + 1), StreamID("one"))
        switch kind {
        case .published: return LocationUpdate(location: fix)
        case .offRoad: return LocationUpdate(location: fix, enhancement: Enhancement(confidence: .offRoad))
        case .matched:
            return LocationUpdate(
                location: fix, intermediate: step == 0 ? [] : [try location(Self.road[step])],
                enhancement: Enhancement(confidence: .matched, road: "Landstrasse"))
        }
    }

    /// A signed-in page with the trackable at the beginning of its drive, on the road.
    private func begin(_ stage: MapStage, at start: Double) async throws -> WebDriver {
        for kind in [Kind.published, .matched] { try await self.publish(kind, 0, at: start, on: stage) }
        let browser = try await WebDriver.start(width: 1440, height: 900)
        try await browser.open("\(stage.url)#trackable=van-7&view=47.16180,9.51270,17")
        try await stage.signIn(browser)
        try await browser.wait(for: "the road", within: self.limit, until: self.hasRoad)
        #expect(try await browser.script(Self.recorder, as: Bool.self))
        try await browser.wait(for: "the marker", within: self.limit, until: "window.isAt(\(Self.middle(0)))")
        return browser
    }

    private func publish(_ kind: Kind, _ step: Int, at start: Double, on stage: MapStage) async throws {
        let payload = try LocationCodec.encode(Self.update(kind, step, at: start))
        try await stage.retain(payload, on: kind == .published ? "van-7" : "van-7/enhanced")
    }

    @Test func theMarkerAndItsTrailFollowTheRoadRoundCorners() async throws {
        let stage = try await MapStage()
        let start = Date().timeIntervalSince1970 - 20
        let browser = try await self.begin(stage, at: start)
        for step in 1...10 {
            try await self.publish(.matched, step, at: start, on: stage)
            try await browser.wait(
                for: "the marker at step \(step)", within: self.limit, until: "window.isAt(\(Self.middle(step)))")
        }
        let away = try await browser.script("return window.drawn.map(({ away }) => away)", as: [Double].self)
        #expect(away.max() ?? .infinity <= 5)
        // The frames between two positions, which are 6 pixels and more from both.
        let moments = try await browser.script(
            """
            const fixes = \((0...10).map { Self.middle($0) }).map(window.pixel);
            return window.drawn.filter(({ x, y }) => fixes.every(([a, b]) => Math.hypot(a - x, b - y) > 6)).length
            """, as: Int.self)
        #expect(moments >= 10)
        let places = (1...9).map { (step: Int) -> [[Double]] in
            let chord = zip(Self.middle(step - 1), Self.middle(step)).map { ($0 + $1) / 2 }
            return [Self.road[step], chord]
        }
        // The trail has ink at each corner, and none on the straight line between two positions.
        let ink = try await browser.script(
            """
            const canvas = document.querySelector('.marker-canvas');
            const has = (place) => {
              const [x, y] = window.pixel(place).map((value) => Math.round(value * canvas.width / canvas.clientWidth));
              return canvas.getContext('2d').getImageData(x - 3, y - 3, 7, 7).data.some((value, i) => i % 4 === 3 && value > 0);
            };
            return \(places).map(([corner, chord]) => `${has(corner)} ${has(chord)}`)
            """, as: [String].self)
        #expect(ink == Array(repeating: "true false", count: 9))
        try await stage.keep(try await browser.screenshot(), "road-1440")
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
    }

    /// The causes for which there are no positions on the road: nothing arrives from the enhancer, or the enhancer
    /// publishes the positions of the device, because its routing engine does not answer.
    enum Loss: CaseIterable, Sendable { case enhancer, engine }

    @Test(arguments: Loss.allCases) func withoutARoadTheMarkerIsWhereTheDeviceIs(_ loss: Loss) async throws {
        let stage = try await MapStage()
        let start = Date().timeIntervalSince1970 - 20
        let browser = try await self.begin(stage, at: start)
        func drive(_ steps: ClosedRange<Int>, _ enhanced: Kind?) async throws {
            for step in steps {
                try await self.publish(.published, step, at: start, on: stage)
                if let enhanced { try await self.publish(enhanced, step, at: start, on: stage) }
                let place = enhanced == .matched ? Self.middle(step) : Self.beside(step)
                try await browser.wait(
                    for: "the marker at step \(step)", within: self.limit, until: "window.isAt(\(place))")
            }
        }
        try await drive(1...2, .matched)
        #expect(try await browser.script("return \(self.hasRoad)", as: Bool.self))
        try await drive(3...5, loss == .engine ? .offRoad : nil)
        try await browser.wait(for: "a panel without a road", within: self.limit, until: "!\(self.hasRoad)")
        try await stage.keep(try await browser.screenshot(), "road-lost-\(loss)")
        try await drive(6...8, .matched)
        try await browser.wait(for: "the road", within: self.limit, until: self.hasRoad)
        // A marker travels less than 100 m to the next position, in one second. A frame may be late under load, so that
        // the allowed distance follows from its time.
        let jump = try await browser.script(
            """
            return Math.max(...window.drawn.slice(1).map(({ x, y, at }, index) => {
              const before = window.drawn[index];
              return window.metres * Math.hypot(x - before.x, y - before.y) - 0.1 * (at - before.at);
            }))
            """, as: Double.self)
        #expect(jump <= 16, "the distance between the position on the road and that of the device")
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
    }
}
