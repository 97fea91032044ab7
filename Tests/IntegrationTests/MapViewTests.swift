import Foundation
import TestSupport
import Testing

/// The page's display on narrow and dense screens, with tiles of a region, without Leaflet, with thousands of
/// trackables, and with recorded positions only. In a real Chromium, with real Mosquitto and `godwit serve`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MapViewTests {
    private let limit = Duration.seconds(60)

    /// Creates a map, as the modules receive it, on a page that is not signed in.
    private static let makeMap = """
        const makeMap = (width) => {
          const box = document.createElement('div');
          box.style.cssText = `position: fixed; left: 0; top: 0; width: ${width}px; height: 500px`;
          document.body.append(box);
          return L.map(box, { minZoom: 2, maxZoom: 20, zoomAnimation: false }).setView([52.66, -8.63], 2);
        };
        """

    @Test func aSelectedTrackableIsNotUnderThePanel() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        // The panel at the right edge of a narrow and of a wide map, over its foot, and over all of it.
        let shown = try await browser.script(
            """
            \(Self.makeMap)
            return import('/map/camera.js').then(({ Camera }) => [[444, 90, 0], [900, 560, 0], [420, 0, 230], [420, 0, 0]].map(
              ([width, left, top]) => {
                const panel = document.createElement('div');
                panel.style.cssText = `position: fixed; left: ${left}px; top: ${top}px; width: ${width - left}px; height: ${500 - top}px`;
                document.body.append(panel);
                const map = makeMap(width);
                const camera = new Camera(map, panel);
                const places = [{ lat: 52.66, lng: -8.63 }, { lat: 52.7, lng: -8.5 }];
                camera.fit(places);
                const parts = [Number.isFinite(map.getZoom()), places.every((place) => camera.shows(place))];
                camera.showClosely(places[1]);
                parts.push(camera.shows(places[1]) && !camera.shows(places[0]));
                camera.keep(places[0]);
                parts.push(camera.offset(places[0]).distanceTo([0, 0]) < 2);
                camera.show({ lat: 90, lng: 179.999 }, 10);
                parts.push(camera.shows({ lat: 90, lng: -179.999 }));
                return parts.map((part) => part ? '+' : '-').join('');
              }))
            """, as: [String].self)
        #expect(shown.prefix(3) == ["+++++", "+++++", "+++++"] && shown.last?.first == "+")
    }

    @Test func aPageOfATabletIsFitted() async throws {
        let stage = try await MapStage()
        try await stage.publish("a", 52.66, -8.63)
        try await stage.publish("b", 52.67, -8.63)
        let browser = try await WebDriver.start(width: 744, height: 1000)
        try await stage.signIn(browser)
        try await browser.wait(
            for: "both", within: self.limit, until: "document.querySelectorAll('#list [role=option]').length === 2")
        try await browser.click("#list [role=option]")
        try await browser.click("#fit")
        let scale = "document.querySelector('.leaflet-control-scale-line').textContent"
        try await browser.wait(for: "a close map", within: self.limit, until: "/^[1-9]00 m$/.test(\(scale))")
        // After the panel is closed with a key, the focus is in the list.
        try await browser.script("document.querySelector('#close').focus(); return true", as: Bool.self).isTrue()
        try await browser.press("\u{E007}")
        try await browser.wait(
            for: "the list", within: self.limit, until: "document.activeElement === document.querySelector('#list')")
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
    }

    @Test func tilesOfARegionAreAskedForAtTheirZoomLevelsAlone() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        let counts = try await browser.script(
            """
            \(Self.makeMap)
            return import('/map/background.js').then(({ Background }) => {
              const map = makeMap(900);
              const count = () => map.getContainer().querySelectorAll('.leaflet-tile').length;
              const isBare = (tiles) => new Background(map, tiles).isBare(map.getZoom()) ? 1 : 0;
              const parts = [isBare({ url: '/tiles/{z}/{x}/{y}', minZoom: 5, maxZoom: 8 }), count()];
              map.setZoom(5);
              parts.push(Math.sign(count()), isBare({ url: '/tiles/{z}/{x}/{y}' }), isBare(undefined));
              return parts;
            })
            """, as: [Int].self)
        #expect(counts == [1, 0, 1, 0, 1])
    }

    @Test func thePageReportsThatLeafletIsMissing() async throws {
        let stage = try await MapStage(["--leaflet", "/nowhere"])
        let browser = try await WebDriver.start()
        try await browser.open(stage.url)
        try await browser.wait(
            for: "what to do", within: self.limit,
            until: "document.querySelector('#notice').innerText.includes('--leaflet')")
    }

    @Test func aCanvasIsMadeOnceOnScreensOfAnyDensity() async throws {
        let stage = try await MapStage()
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        let made = try await browser.script(
            """
            const { get, set } = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, 'width');
            let count = 0;
            Object.defineProperty(HTMLCanvasElement.prototype, 'width', { get, set(value) { count += 1; set.call(this, value); } });
            Object.defineProperty(window, 'devicePixelRatio', { get: () => 2.6251 });
            const frames = godwitFrames;
            return new Promise((done) => {
              const look = () => godwitFrames > frames + 10 ? done(count) : requestAnimationFrame(look);
              look();
            })
            """, as: Int.self)
        #expect(made == 1)
    }

    @Test func aRecordedTrackableIsListedAndHasItsHistory() async throws {
        let stage = try await MapStage(hasDrive: true)
        let browser = try await WebDriver.start()
        try await stage.signIn(browser)
        let rows = "document.querySelector('#list').innerText"
        try await browser.wait(
            for: "the van", within: self.limit,
            until: "\(rows).includes('van-7') && \(rows).includes('recorded until')")
        try await browser.click("#list [role=option]")
        try await browser.click("#past")
        try await browser.wait(
            for: "the track", within: self.limit, until: "!document.querySelector('#replay').hidden")
        let state = try await browser.script(
            "return document.querySelector('#panel-state').textContent", as: String.self)
        #expect(state.hasPrefix("Offline; recorded until"))
        // A trackable that is no longer listed was erased. Nothing is kept for another user, who may not read it.
        let listed = try await browser.script(
            """
            return Promise.all([import('/map/names.js'), import('/map/fleet.js')]).then(async ([{ Names }, { Fleet }]) => {
              let answers = [[{ id: 'a', last: 9 }, { id: 'b', name: 'B' }], [{ id: 'b', name: 'B' }]];
              window.fetch = async () => new Response(JSON.stringify({ trackables: answers[0] }), { status: answers[0] ? 200 : 503 });
              const fleet = new Fleet();
              const names = new Names(fleet);
              const listed = [];
              const look = () => listed.push(fleet.listed.map((trackable) => trackable.id).join());
              await names.load();
              look();
              fleet.clear();
              names.tellRecorded();
              look();
              answers.shift();
              await names.load();
              look();
              answers = [[{ id: 'a', last: 9 }]];
              await names.load();
              answers = [];
              await names.load();
              look();
              names.clear();
              fleet.clear();
              names.tellRecorded();
              look();
              return listed;
            })
            """, as: [String].self)
        #expect(listed == ["a", "a", "", "a", ""])
    }
}

extension Bool {
    fileprivate func isTrue() { #expect(self) }
}
