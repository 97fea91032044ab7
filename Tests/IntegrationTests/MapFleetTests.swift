import Foundation
import TestSupport
import Testing

/// The map as a product: search, filters, groups of markers, ages, addresses, languages, and next steps; at
/// 1440 × 900 and 390 × 844. Screenshots are saved in `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(15))) struct MapFleetTests {
    /// A window of a desk and of a phone.
    enum Screen: String, CaseIterable {
        case desk, phone

        func start(_ language: String = "en-CA") async throws -> WebDriver {
            switch self {
            case .desk: try await WebDriver.start(width: 1440, height: 900, language: language)
            case .phone: try await WebDriver.start(width: 390, height: 844, isPhone: true, language: language)
            }
        }
    }

    private let rows = "document.querySelectorAll('#list [role=option]').length"
    private let count = "document.querySelector('#count').textContent"
    private let hash = "decodeURIComponent(location.hash)"

    private func noComplaints(_ browser: WebDriver) async throws {
        let complaints = try await browser.complaints().filter { !$0.contains("401") && !$0.contains("/api/v1/live") }
        #expect(complaints == [])
    }

    @Test(arguments: Screen.allCases) func searchAndChipsFilterMapListAndFitAll(_ screen: Screen) async throws {
        let stage = try await MapStage()
        let swarm = try await Swarm.start(3, on: stage.broker)
        for id in ["van-1", "van-2"] { try await stage.publish(id, 48.1, 11.5) }
        _ = try await stage.run(["trackables", "set", "van-1", "group=Munich"])
        let browser = try await screen.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "all five", until: "\(self.count) === '5'")
        try await browser.wait(
            for: "the chips", until: "document.querySelectorAll('#chips [data-kind=state]').length === 2")
        try await browser.click("#chips [data-value=ONLINE]")
        try await browser.wait(for: "the moving ones", until: "\(self.count) === '3 of 5' && \(self.rows) === 3")
        try await browser.click("#fit")
        // Without the filter, the map shows Limerick and Munich.
        let scale = "document.querySelector('.leaflet-control-scale-line').textContent"
        try await browser.wait(
            for: "a map of the found ones",
            until:
                "/^[0-9]+ (m|km)$/.test(\(scale)) && parseInt(\(scale)) * (\(scale).includes('km') ? 1000 : 1) <= 1000")
        try await stage.keep(try await browser.screenshot(), "filter-\(screen)")
        try await browser.type("t1", into: "#search")
        try await browser.wait(for: "one of them", until: "\(self.count) === '1 of 5'")
        try await browser.wait(for: "the address", until: "\(self.hash).includes('search=t1&state=ONLINE')")
        try await browser.type("zzz", into: "#search")
        try await browser.click("#guide button")
        try await browser.wait(for: "all of them", until: "\(self.count) === '5'")
        try await browser.wait(for: "the group", until: "document.querySelector('#chips [data-value=Munich]')")
        try await browser.click("#chips [data-value=Munich]")
        try await browser.wait(for: "the group alone", until: "\(self.count) === '1 of 5'")
        try await self.noComplaints(browser)
        withExtendedLifetime(swarm) {}
    }

    @Test(arguments: Screen.allCases) func fortyMarkersAreOneCircleInTheWorstColour(_ screen: Screen) async throws {
        let stage = try await MapStage()
        let swarm = try await Swarm.start(39, on: stage.broker)
        let browser = try await screen.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "the online ones", until: "\(self.count) === '39'")
        try await browser.script("location.hash = '#view=52.66000,-8.63000,6'; return true", as: Bool.self).isTrue()
        /// An expression for the number of pixels on the map in the colours of two states.
        let pixels = { (states: String) in
            """
            import('/map/layers.js').then(({ palette }) => {
              const { state } = palette();
              const probe = document.createElement('i');
              document.body.append(probe);
              const colours = \(states).map((name) => {
                probe.style.color = state[name];
                return getComputedStyle(probe).color.match(/[0-9]+/g).slice(0, 3).join();
              });
              probe.remove();
              const canvas = document.querySelector('.marker-canvas');
              const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
              const counts = colours.map(() => 0);
              for (let i = 0; i < data.length; i += 4) {
                const at = colours.indexOf(`${data[i]},${data[i + 1]},${data[i + 2]}`);
                if (at >= 0 && data[i + 3] === 255) counts[at] += 1;
              }
              return counts;
            })
            """
        }
        /// Waits until the map has a circle in the colour of one state, and nothing in the colour of the other.
        func waitForCircle(_ colour: String, not other: String) async throws {
            try await waitUntil {
                let counts = try await browser.script("return \(pixels("['\(colour)', '\(other)']"))", as: [Int].self)
                return counts[0] > 200 && counts[1] == 0
            }
        }
        try await waitForCircle("ONLINE", not: "OFFLINE")
        // Without a publisher, the fortieth is offline.
        try await stage.publish("zz", 52.66, -8.63)
        try await browser.wait(for: "the fortieth", until: "\(self.count) === '40'")
        try await waitForCircle("OFFLINE", not: "ONLINE")
        try await stage.keep(try await browser.screenshot(), "forty-\(screen)")
        withExtendedLifetime(swarm) {}
    }

    @Test func aTokenThatMayOnlyPublishGetsTheReason() async throws {
        let stage = try await MapStage()
        let token = try await stage.run(["token", "create", "--name", "phone", "--publish", "van-7"])
        let browser = try await WebDriver.start(width: 1440, height: 900)
        try await stage.signIn(browser, with: token)
        let guide = "document.querySelector('#guide').innerText"
        try await browser.wait(for: "the reason", until: "\(guide).includes('This token may not read any trackable.')")
        #expect(try await browser.script("return !\(guide).includes('godwit-agent')", as: Bool.self))
        // The browser warns about a form with a password and without a user.
        let user = "document.querySelector('#sign-in input[autocomplete=username]')"
        #expect(try await browser.script("return \(user)?.hidden === true", as: Bool.self))
        try await self.noComplaints(browser)
    }

    @Test(arguments: Screen.allCases) func aStackOfMarkersIsListed(_ screen: Screen) async throws {
        let stage = try await MapStage()
        for id in ["a", "b", "c"] { try await stage.publish(id, 52.66, -8.63) }
        let browser = try await screen.start()
        try await stage.signIn(browser, at: stage.url)
        try await browser.wait(for: "all", until: "\(self.count) === '3'")
        try await browser.script("location.hash = '#view=52.66000,-8.63000,14'; return true", as: Bool.self).isTrue()
        // There is no condition for a drawn frame after the view.
        try await Task.sleep(for: .milliseconds(500))
        try await browser.tap(browser.middle(of: "#map"))
        try await browser.wait(for: "the stack", until: "document.querySelectorAll('.stack button').length === 3")
        try await stage.keep(try await browser.screenshot(), "stack-\(screen)")
        try await browser.click(".stack li:nth-child(2) button")
        try await browser.wait(
            for: "the chosen one", until: "document.querySelector('#panel-name').textContent === 'b'")
        try await self.noComplaints(browser)
    }

    @Test(arguments: Screen.allCases) func anOldPositionIsGrey(_ screen: Screen) async throws {
        let stage = try await MapStage()
        let swarm = try await Swarm.start(1, on: stage.broker, age: 245_000_000)
        let browser = try await screen.start()
        try await stage.signIn(browser)
        try await browser.wait(
            for: "that it is old",
            until: "document.querySelector('#list .OLD .more')?.textContent === 'last seen 7 years ago'")
        let colours = """
            return import('/map/layers.js').then(({ palette }) => {
              const { state } = palette();
              const dot = getComputedStyle(document.querySelector('#list .OLD .dot')).backgroundColor;
              const probe = document.createElement('i');
              probe.style.color = state.OFFLINE;
              document.body.append(probe);
              return [state.OLD === state.OFFLINE, getComputedStyle(probe).color === dot, state.OLD !== state.ONLINE];
            })
            """
        #expect(try await browser.script(colours, as: [Bool].self) == [true, true, true])
        try await browser.click("#list [role=option]")
        try await browser.wait(
            for: "the panel",
            until: "document.querySelector('#panel-state').textContent === 'No recent position; last seen 7 years ago'")
        try await stage.keep(try await browser.screenshot(), "old-\(screen)")
        withExtendedLifetime(swarm) {}
    }

    @Test(arguments: Screen.allCases) func theListIsSortedByTheChosenValue(_ screen: Screen) async throws {
        let stage = try await MapStage()
        let now = Date().timeIntervalSince1970
        for (id, age, battery, speed) in [("a", 30.0, 0.5, 20.0), ("b", 20.0, 0.9, 5.0), ("c", 10.0, 0.1, 10.0)] {
            try await stage.publish(id, 52.66, -8.63, time: now - age, battery: battery, speed: speed)
        }
        let browser = try await screen.start()
        try await stage.signIn(browser)
        let order =
            "[...document.querySelectorAll('#list [role=option]')]"
            + ".sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map((row) => row.dataset.id).join('')"
        for (value, expected) in [("name", "abc"), ("age", "cba"), ("speed", "acb"), ("battery", "cab")] {
            try await browser.script(
                "const s = document.querySelector('#sort'); s.value = '\(value)'; s.dispatchEvent(new Event('change')); return true",
                as: Bool.self
            ).isTrue()
            try await browser.wait(for: "the order of \(value)", until: "\(order) === '\(expected)'")
        }
        // The choice is remembered.
        try await browser.open(stage.url)
        try await browser.wait(for: "the same order", until: "\(order) === 'cab'")
    }

    @Test(arguments: Screen.allCases) func theAddressHoldsWhatIsShown(_ screen: Screen) async throws {
        let stage = try await MapStage(hasDrive: true)
        try await stage.publish("van-7", 52.66, -8.63)
        try await stage.publish("bike-3", 52.67, -8.63)
        let browser = try await screen.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "both", until: "\(self.count) === '2'")
        try await browser.script(
            "[...document.querySelectorAll('#list [role=option]')].find(e => e.dataset.id === 'van-7').click(); return true",
            as: Bool.self
        ).isTrue()
        try await browser.click("#past")
        try await browser.wait(for: "the track", until: "!document.querySelector('#replay').hidden")
        try await browser.wait(
            for: "the address",
            until: "/^#trackable=van-7&from=[^&]+Z&to=[^&]+Z&view=[-0-9.,]+$/.test(\(self.hash))")
        // The map moves to the track, and the address follows after 300 ms.
        try await Task.sleep(for: .seconds(1))
        let link = try await browser.script("return location.href", as: String.self)
        let other = try await screen.start()
        try await other.open(link)
        try await stage.signIn(other, at: stage.url)
        try await other.wait(for: "the track", until: "!document.querySelector('#replay').hidden")
        #expect(try await other.script("return document.querySelector('#panel-name').textContent") == "van-7")
        // The address is written again after 300 ms.
        try await Task.sleep(for: .seconds(1))
        let shown = try await other.script("return location.href", as: String.self)
        // The view may be moved by a pixel.
        let whole = /&view=.*/
        #expect(shown.replacing(whole, with: "") == link.replacing(whole, with: ""))
        let views = [shown, link].map {
            $0.split(separator: "=").last?.split(separator: ",").compactMap { Double($0) } ?? []
        }
        #expect(zip(views[0], views[1]).allSatisfy { abs($0 - $1) < 0.002 } && views[0].count == 3, "\(shown) \(link)")
        let note = "return document.querySelector('#history-note').textContent"
        #expect(try await other.script(note, as: String.self) == browser.script(note, as: String.self))
        try await stage.keep(try await other.screenshot(), "address-\(screen)")
        // The panel with its history is as high as the page.
        let free = """
            [...document.querySelectorAll('.leaflet-control-zoom a')].filter((button) => {
              const { left, top, width, height } = button.getBoundingClientRect();
              return button.contains(document.elementFromPoint(left + width / 2, top + height / 2));
            }).length === 2
            """
        try await other.wait(for: "zoom buttons that nothing covers", until: free)
        try await self.noComplaints(other)
    }

    @Test(arguments: Screen.allCases) func theBannerReportsALostConnectionAndDroppedMessages(_ screen: Screen)
        async throws
    {
        let stage = try await MapStage()
        try await stage.publish("a", 52.66, -8.63)
        let browser = try await screen.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "it", until: "\(self.count) === '1'")
        try await stage.restart {
            try await browser.wait(
                for: "the banner",
                until: "/^Connection lost at [0-9:]{8}\\. Positions may be out of date\\. Trying again …$/"
                    + ".test(document.querySelector('#banner').innerText.trim())")
            let widths =
                "return document.querySelector('#banner').offsetWidth >= document.querySelector('#map').offsetWidth"
            #expect(try await browser.script(widths, as: Bool.self))
            try await stage.keep(try await browser.screenshot(), "lost-\(screen)")
        }
        try await browser.wait(for: "the connection", until: "document.querySelector('#banner').hidden")
        let dropped = try await browser.script(
            """
            return import('/map/banner.js').then(({ Banner }) => {
              const banner = new Banner(document.querySelector('#banner'));
              banner.drop(true);
              const shown = document.querySelector('#banner').innerText.trim();
              banner.drop(false);
              return [shown, String(document.querySelector('#banner').hidden)];
            })
            """, as: [String].self)
        let warning = "The broker dropped messages: its queues are too short. Positions may be missing."
        #expect(dropped == [warning, "true"])
    }

    @Test(arguments: Screen.allCases) func thePageSpeaksGermanAndCountsMiles(_ screen: Screen) async throws {
        let stage = try await MapStage()
        try await stage.publish("a", 52.66, -8.63, battery: 0.5)
        let browser = try await screen.start("de-DE")
        try await stage.signIn(browser)
        try await browser.wait(for: "it", until: "\(self.count) === '1'")
        let text = "document.body.innerText"
        try await browser.wait(for: "German", until: "\(text).includes('Übersicht') && \(text).includes('Akku 50')")
        #expect(try await browser.script("return document.documentElement.lang") == "de")
        try await browser.click("#list [role=option]")
        try await browser.wait(for: "the panel", until: "document.querySelector('#facts').innerText.includes('Ort')")
        try await stage.keep(try await browser.screenshot(), "german-\(screen)")
        try await browser.click("#close")
        let choose = { (id: String, value: String) in
            "const s = document.querySelector('#\(id)'); s.value = '\(value)'; s.dispatchEvent(new Event('change')); return true"
        }
        try await browser.script(choose("units", "imperial"), as: Bool.self).isTrue()
        try await browser.wait(
            for: "feet or miles",
            until: "/ (ft|mi)$/.test(document.querySelector('.leaflet-control-scale-line').textContent)")
        try await browser.script(choose("language", "en"), as: Bool.self).isTrue()
        try await browser.wait(for: "English", until: "\(text).includes('Fit all')")
        // Both choices are remembered.
        try await browser.open(stage.url)
        try await browser.wait(for: "English again", until: "\(text).includes('Fit all')")
        try await browser.wait(
            for: "feet or miles",
            until: "/ (ft|mi)$/.test(document.querySelector('.leaflet-control-scale-line').textContent)")
        try await self.noComplaints(browser)
    }

    @Test(arguments: Screen.allCases) func anEmptyFleetShowsTheNextSteps(_ screen: Screen) async throws {
        let stage = try await MapStage()
        let browser = try await screen.start()
        try await stage.signIn(browser)
        let guide = "document.querySelector('#guide')"
        try await browser.wait(
            for: "the next steps",
            until:
                "\(guide).innerText.includes('godwit-agent run --trackable van-7 --source simulate: --broker mqtt://127.0.0.1:\(stage.broker.port)')"
        )
        try await stage.keep(try await browser.screenshot(), "empty-\(screen)")
        try await browser.click("#guide .command button")
        try await browser.wait(for: "the copied command", until: "\(guide).innerText.includes('Copied')")
        try await browser.click("#guide > button")
        try await browser.type("gw_abc", into: "#phone-token")
        try await browser.wait(for: "the code", until: "document.querySelector('#phone-qr').width > 100")
        let link = "document.querySelector('#phone-link').getAttribute('href')"
        #expect(try await browser.script("return \(link)", as: String.self).hasPrefix("overland://setup?url=http"))
        try await stage.keep(try await browser.screenshot(), "phone-code-\(screen)")
        try await browser.click("#phone-close")
        try await stage.publish("a", 52.66, -8.63)
        try await browser.wait(for: "the list", until: "\(guide).hidden && \(self.rows) === 1")
        try await self.noComplaints(browser)
    }

    @Test(arguments: Screen.allCases) func anEmptySpanLeadsToTheLastHour(_ screen: Screen) async throws {
        let stage = try await MapStage(hasDrive: true)
        let browser = try await screen.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "the van", until: "\(self.rows) === 1")
        try await browser.open(stage.url + "#trackable=van-7&from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z")
        try await browser.wait(for: "the empty span", until: "document.querySelector('#history-next button')")
        try await stage.keep(try await browser.screenshot(), "empty-span-\(screen)")
        try await browser.click("#history-next button")
        try await browser.wait(for: "the track", until: "!document.querySelector('#replay').hidden")
    }

    @Test(arguments: Screen.allCases) func coordinatesAreCopiedAndOpenOtherMaps(_ screen: Screen) async throws {
        let stage = try await MapStage()
        try await stage.publish("a", 52.66, -8.63)
        let browser = try await screen.start()
        try await stage.signIn(browser)
        try await browser.wait(for: "it", until: "\(self.rows) === 1")
        try await browser.click("#list [role=option]")
        try await browser.script(
            "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } }); return true",
            as: Bool.self
        ).isTrue()
        try await browser.click("#copy-place")
        try await browser.wait(for: "the coordinates", until: "window.copied === '52.66000, -8.63000'")
        let links = try await browser.script(
            "return ['osm', 'geo'].map((id) => document.getElementById(id).getAttribute('href'))", as: [String].self)
        let osm = "https://www.openstreetmap.org/?mlat=52.66000&mlon=-8.63000#map=16/52.66000/-8.63000"
        #expect(links == [osm, "geo:52.66000,-8.63000"])
    }
}

extension Bool {
    fileprivate func isTrue() { #expect(self) }
}
