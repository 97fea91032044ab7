import Foundation
import TestSupport
import Testing
import TrackingCore

/// Journeys and estimates on the map and on the page of a share link: in a real Chromium, with real Mosquitto and
/// `godwit serve`. The test plays the enhancer. Screenshots are saved in `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(15))) struct MapJourneyTests {
    private let limit = Duration.seconds(60)
    private let facts = "document.querySelector('#facts').innerText"
    private let stops = "document.querySelector('#stops').innerText"
    private let card = "document.querySelector('#card').innerText"

    /// The number of pixels of the map in the colour of the route and of the stops.
    private let routePixels = """
        (() => {
          const canvas = document.querySelector('.marker-canvas');
          const probe = new OffscreenCanvas(1, 1).getContext('2d');
          probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--route');
          probe.fillRect(0, 0, 1, 1);
          const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          let count = 0;
          for (let i = 0; i < data.length; i += 4)
            if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 6 && data[i + 3] > 250) count += 1;
          return count;
        })()
        """

    private func text(_ browser: WebDriver, _ script: String) async throws -> String {
        try await browser.script("return \(script)", as: String.self)
    }

    /// Clicks without a pointer, because a part of the panel may have to be scrolled into view.
    private func press(_ selector: String, _ browser: WebDriver) async throws {
        let isPressed = try await browser.script(
            "document.querySelector('\(selector)').click(); return true", as: Bool.self)
        #expect(isPressed)
    }

    /// Chooses a trackable in the list.
    private func choose(_ id: String, _ browser: WebDriver) async throws {
        let row = "#list [data-id=\(id)]"
        try await browser.wait(for: id, within: self.limit, until: "document.querySelector('\(row)')")
        try await self.press(row, browser)
    }

    /// Returns the texts of times, as the page shows them.
    private func clocks(_ times: [Double], _ browser: WebDriver) async throws -> [String] {
        try await browser.script(
            """
            return import('/map/text.js').then(({ clock }) => \(times).map((time) => clock(time, Date.now() / 1000)))
            """, as: [String].self)
    }

    // MARK: - The map

    @Test(arguments: [(1440, 900, "en-CA", false), (390, 844, "de-DE", true)])
    func aJourneyIsShownUntilItIsCleared(width: Int, height: Int, language: String, isDark: Bool) async throws {
        let stage = try await MapStage()
        let trip = Trip(now: Date().timeIntervalSince1970)
        try await stage.publish("van-7", 47.16, 9.51)
        try await stage.publish("van-8", 47.17, 9.53)
        try await stage.publish(trip.journey, of: "van-7")
        try await stage.publish(trip.estimate(), of: "van-7")
        let browser = try await WebDriver.start(
            width: width, height: height, isDark: isDark, isPhone: width < 600, language: language)
        try await stage.signIn(browser)
        try await browser.wait(
            for: "the vans", within: self.limit, until: "document.querySelectorAll('#list [role=option]').length === 2")
        try await browser.wait(for: "a fitted map", within: self.limit, until: "location.hash.includes('view=')")
        #expect(try await browser.script("return \(self.routePixels)", as: Int.self) == 0)
        try await self.choose("van-7", browser)
        try await browser.wait(
            for: "the stops", within: self.limit, until: "document.querySelectorAll('#stops li').length === 3")
        let times = try await self.clocks([trip.now + 420, trip.now + 360, trip.now + 500, trip.now + 600], browser)
        let isGerman = language == "de-DE"
        let band = "\(times[0]) (\(times[1]) \(isGerman ? "bis" : "to") \(times[2]))"
        try await browser.wait(for: "the next stop", within: self.limit, until: "\(self.facts).includes('\(band)')")
        let shown = try await self.text(browser, self.stops).replacing("\u{A0}", with: " ")
        let expected =
            isGerman
            ? [band, "geplant \(times[3])", "740 m", "gleich da", "Depot", "Halt 2", "verspätet", "1,2 km"]
            : [band, "planned \(times[3])", "740 m", "approaching", "Depot", "Stop 2", "delayed", "1.2 km"]
        for part in expected { #expect(shown.contains(part), "\(part) is missing: \(shown)") }
        try await browser.wait(for: "the route", within: self.limit, until: "\(self.routePixels) > 100")
        try await stage.keep(try await browser.screenshot(), "journey-\(width)")
        try await self.press("#stops button", browser)
        try await stage.keep(try await browser.screenshot(), "journey-\(width)-stop")
        // An estimate of more than two minutes is marked.
        try await stage.publish(trip.estimate(age: 180), of: "van-7")
        try await browser.wait(
            for: "an old estimate", within: self.limit,
            until: "document.querySelector('#journey.old') && \(self.routePixels) === 0")
        try await stage.publish(trip.estimate(), of: "van-7")
        try await browser.wait(for: "the route", within: self.limit, until: "\(self.routePixels) > 100")
        // Another trackable has no journey.
        try await self.press("#close", browser)
        try await self.choose("van-8", browser)
        try await browser.wait(
            for: "no journey", within: self.limit,
            until: "document.querySelector('#journey').hidden && \(self.routePixels) === 0")
        try await self.press("#close", browser)
        try await self.choose("van-7", browser)
        try await browser.wait(for: "the route", within: self.limit, until: "\(self.routePixels) > 100")
        // Without an estimate the stops remain.
        let pixels = try await browser.script("return \(self.routePixels)", as: Int.self)
        try await stage.clear("van-7/estimate")
        try await browser.wait(
            for: "no route", within: self.limit,
            until: "!\(self.facts).includes('\(band)') && \(self.routePixels) < \(pixels - 100)")
        try await stage.clear("van-7/journey")
        try await browser.wait(
            for: "no journey", within: self.limit,
            until: "document.querySelector('#journey').hidden && \(self.routePixels) === 0")
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
    }

    // MARK: - The editor

    /// Waits until the broker retains a journey that meets a condition; `nil` after it was cleared.
    private func journey(_ stage: MapStage, where isExpected: (Journey?) -> Bool) async throws {
        try await waitUntil {
            let text = try await MosquittoTool.retained("tracking/van-7/journey", on: stage.broker)
            // Without a retained message, Mosquitto's client prints that the time is over.
            guard text.hasPrefix("{") else { return isExpected(nil) }
            let bytes = Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
            return isExpected(try MessageCodec.decodeJourney(bytes))
        }
    }

    @Test(arguments: [(1440, 900), (390, 844)])
    func anAdministratorSetsChangesAndClearsAJourney(width: Int, height: Int) async throws {
        let stage = try await MapStage(["--allow-commands"])
        try await stage.publish("van-7", 47.16, 9.51)
        let token = try await stage.run(["token", "create", "--name", "boss", "--admin"])
        let browser = try await WebDriver.start(width: width, height: height, isPhone: width < 600)
        let note = "document.querySelector('#journey-note').textContent"
        let rows = "document.querySelectorAll('#journey-stops li').length"
        try await stage.signIn(browser, with: token)
        try await browser.wait(for: "a fitted map", within: self.limit, until: "location.hash.includes('view=')")
        try await self.choose("van-7", browser)
        try await self.press("#journey-edit", browser)
        try await browser.wait(
            for: "the form", within: self.limit, until: "!document.querySelector('#journey-form').hidden")
        #expect(try await browser.script("return document.querySelector('#journey-clear').hidden", as: Bool.self))
        // A stop by a click on the map, and one by its coordinates.
        let place = WebDriver.Point(x: width < 600 ? 120 : 600, y: width < 600 ? 150 : 300)
        if width < 600 { try await browser.tap(place) } else { try await browser.click(place) }
        try await browser.wait(for: "a stop", within: self.limit, until: "\(rows) === 1")
        let isTyped = try await browser.script(
            """
            document.querySelector('#journey-place').value = '47.17, 9.52';
            document.querySelector('#journey-add').click();
            const [name, time] = document.querySelectorAll('#journey-stops li:last-child input');
            [name.value, time.value] = ['Bakery', '2030-05-04T12:30'];
            for (const input of [name, time]) input.dispatchEvent(new Event('input'));
            return document.querySelectorAll('.stop-pin').length === 2
            """, as: Bool.self)
        #expect(isTyped)
        try await stage.keep(try await browser.screenshot(), "journey-editor-\(width)")
        try await self.press("#journey-save", browser)
        try await browser.wait(for: "the answer", within: self.limit, until: "\(note).includes('is saved')")
        try await self.journey(stage) { journey in
            guard let journey, journey.stops.count == 2 else { return false }
            return journey.stops[1].name == "Bakery" && journey.stops[1].planned != nil && journey.stops[0].name == nil
        }
        try await browser.wait(
            for: "the stops", within: self.limit, until: "document.querySelectorAll('#stops li').length === 2")
        // Another user changes the journey while the form is open.
        try await self.press("#journey-edit", browser)
        try await browser.wait(for: "the stops", within: self.limit, until: "\(rows) === 2")
        try await stage.publish(Trip(now: Date().timeIntervalSince1970).journey, of: "van-7")
        try await browser.wait(
            for: "the other journey", within: self.limit, until: "document.querySelectorAll('#stops li').length === 3")
        try await self.press("#journey-save", browser)
        try await browser.wait(
            for: "the conflict", within: self.limit, until: "\(note).includes('Somebody else') && \(rows) === 3")
        try await self.press("#journey-stops button", browser)
        try await self.press("#journey-save", browser)
        try await self.journey(stage) { $0?.stops.map(\.id) == ["b", "c"] }
        try await browser.wait(for: "the answer", within: self.limit, until: "\(note).includes('is saved')")
        try await self.press("#journey-edit", browser)
        try await browser.wait(for: "the stops", within: self.limit, until: "\(rows) === 2")
        try await self.press("#journey-clear", browser)
        try await browser.wait(for: "the answer", within: self.limit, until: "\(note).includes('is cleared')")
        try await self.journey(stage) { $0 == nil }
        try await browser.wait(
            for: "no journey", within: self.limit, until: "document.querySelector('#journey').hidden")
        let complaints = try await browser.complaints()
        #expect(complaints.filter { message in !["401", "404", "412"].contains { message.contains($0) } } == [])
    }

    // MARK: - A share link

    /// The link that an administrator makes in the panel for a stop shows the turn of this stop.
    @Test(arguments: [(1440, 900, "en-CA"), (390, 844, "de-DE")])
    func anAdministratorMakesALinkForAStop(width: Int, height: Int, language: String) async throws {
        let stage = try await MapStage()
        let trip = Trip(now: Date().timeIntervalSince1970)
        try await stage.publish("van-7", 47.16, 9.51)
        let token = try await stage.run(["token", "create", "--name", "boss", "--admin"])
        let browser = try await WebDriver.start(width: width, height: height, isPhone: width < 600, language: language)
        try await stage.signIn(browser, with: token)
        try await self.choose("van-7", browser)
        let choice = "document.querySelector('#share-stop')"
        try await browser.wait(
            for: "no choice without a journey", within: self.limit,
            until: "document.querySelector('#shares').checkVisibility() && !\(choice).checkVisibility()")
        try await stage.publish(trip.journey, of: "van-7")
        try await browser.wait(
            for: "the stops", within: self.limit,
            until: "\(choice).checkVisibility() && \(choice).options.length === 4 && \(choice).value === ''")
        let isGerman = language == "de-DE"
        let offered = try await browser.script(
            "return [...\(choice).options].map(({ textContent }) => textContent)", as: [String].self)
        #expect(
            offered
                == (isGerman
                    ? ["Kein fester Halt (immer der letzte)", "1. Depot", "Halt 2", "3. Bakery"]
                    : ["No fixed stop (always the last one)", "1. Depot", "Stop 2", "3. Bakery"]))
        let size = try await browser.script(
            "return [\(choice).getBoundingClientRect().height, parseFloat(getComputedStyle(\(choice)).fontSize)]",
            as: [Double].self)
        #expect(width > 600 || size[0] >= 44 && size[1] >= 16, "\(size)")
        let isChosen = try await browser.script("\(choice).value = 'b'; return \(choice).value === 'b'", as: Bool.self)
        #expect(isChosen)
        try await self.press("#share-create", browser)
        try await browser.wait(
            for: "the link", within: self.limit,
            until:
                "document.querySelector('#share-list').innerText.includes('\(isGerman ? "für Halt 2" : "for Stop 2")')")
        let link = try await self.text(browser, "document.querySelector('#share-link').value")
        let isShown = try await browser.script("\(choice).scrollIntoView(); return true", as: Bool.self)
        #expect(isShown)
        try await stage.keep(try await browser.screenshot(), "share-stop-\(width)")
        // A stop that the journey does not have any more is not chosen any more.
        var shorter = trip.journey
        shorter.stops.remove(at: 1)
        try await stage.publish(shorter, of: "van-7")
        try await browser.wait(
            for: "the shorter journey", within: self.limit,
            until:
                "\(choice).options.length === 3 && \(choice).value === '' && document.querySelector('#shares').innerText.includes('\(isGerman ? "nicht mehr" : "any more")')"
        )
        #expect(try await browser.complaints().filter { !$0.contains("401") } == [])
        try await stage.publish(trip.journey, of: "van-7")
        try await browser.open(link)
        try await stage.publish("van-7", 47.161, 9.511)
        try await stage.publish(trip.estimate(), of: "van-7")
        for part in isGerman ? ["Verspätet", "Noch 1 Halt vor Ihnen"] : ["Delayed", "1 stop before you"] {
            try await browser.wait(for: part, within: self.limit, until: "\(self.card).includes('\(part)')")
        }
        let shown = try await self.text(browser, "document.body.innerText")
        #expect(!shown.contains("Depot") && !shown.contains("Bakery"), "\(shown)")
        #expect(try await browser.complaints() == [])
    }

    @Test(arguments: [(390, 844), (1440, 900)])
    func aLinkShowsTheTurnOfItsStop(width: Int, height: Int) async throws {
        let stage = try await MapStage()
        let link = try await stage.share("van-7", for: "2h")
        // An estimate from before the creation of the link shows neither a distance nor a way.
        let trip = Trip(now: Date().timeIntervalSince1970)
        try await stage.publish("van-7", 47.16, 9.51)
        try await stage.publish(trip.journey, of: "van-7")
        let browser = try await WebDriver.start(width: max(600, width), height: 900)
        try await browser.emulateScreen(width: width, height: height)
        try await browser.open(link)
        let times = try await self.clocks(
            [trip.now + 1_200, trip.now + 900, trip.now + 1_500, trip.now - 60], browser)
        func expect(_ parts: String..., estimate: Estimate, as name: String) async throws {
            try await stage.publish(estimate, of: "van-7")
            for part in parts {
                try await browser.wait(for: part, within: self.limit, until: "\(self.card).includes('\(part)')")
            }
            let shown = try await self.text(browser, "document.body.innerText")
            #expect(!shown.contains("Depot") && !shown.contains("Stop 2"), "\(shown)")
            try await stage.keep(try await browser.screenshot(), "share-\(width)-\(name)")
        }
        let arrival = "\(times[0]) (\(times[1]) to \(times[2]))"
        try await expect(
            "2 stops before you", arrival, "1.9 km", estimate: trip.estimate(last: .enRoute), as: "before")
        #expect(try await browser.script("return \(self.routePixels)", as: Int.self) == 0)
        try await expect(
            "Delayed", "2 stops before you", arrival, estimate: trip.estimate(last: .delayed), as: "delayed")
        try await expect(
            "You are next", arrival, estimate: trip.estimate(last: .approaching, isNext: true), as: "next")
        try await browser.wait(for: "the way ahead", within: self.limit, until: "\(self.routePixels) > 50")
        try await expect(
            "Arrived at \(times[3])", estimate: trip.estimate(last: .arrived, isNext: true), as: "arrived")
        #expect(try await browser.script("return document.querySelector('#arrival').hidden", as: Bool.self))
        try await stage.clear("van-7/estimate")
        try await browser.wait(for: "no turn", within: self.limit, until: "document.querySelector('#turn').hidden")
        #expect(try await browser.complaints() == [])
    }
}

/// A journey with three stops, and its estimates.
private struct Trip {
    let now: Double

    private func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: longitude)!  // a valid place
    }

    var journey: Journey {
        Journey(stops: [
            Journey.Stop(
                id: "a", name: "Depot", location: self.place(47.164, 9.513), planned: UnixTime(self.now + 600)),
            Journey.Stop(id: "b", location: self.place(47.167, 9.512)),
            Journey.Stop(id: "c", name: "Bakery", location: self.place(47.170, 9.514)),
        ])
    }

    /// Returns an estimate.
    ///
    /// - Parameters:
    ///   - age: The age of the estimate in seconds.
    ///   - last: The status of the last stop.
    ///   - isNext: `true` if the trackable has reached the stops before the last one.
    func estimate(age: Double = 0, last: Estimate.Status = .enRoute, isNext: Bool = false) -> Estimate {
        func stop(_ id: String, _ status: Estimate.Status, eta: Double, band: (Double, Double), _ way: Meters)
            -> Estimate.Stop
        {
            if status == .arrived { return Estimate.Stop(id: id, eta: UnixTime(self.now - 60), status: .arrived) }
            return Estimate.Stop(
                id: id, eta: UnixTime(self.now + eta), earliest: UnixTime(self.now + band.0),
                latest: UnixTime(self.now + band.1), distance: way, status: status)
        }
        let route = [(47.16, 9.51), (47.162, 9.5132), (47.164, 9.513), (47.167, 9.512), (47.17, 9.514)]
        return Estimate(
            time: UnixTime(self.now - age), basis: .route,
            stops: [
                stop("a", isNext ? .arrived : .approaching, eta: 420, band: (360, 500), 740),
                stop("b", isNext ? .arrived : .delayed, eta: 900, band: (800, 1_000), 1_240),
                stop("c", last, eta: 1_200, band: (900, 1_500), 1_900),
            ], route: last == .arrived ? [] : route.map { self.place($0.0, $0.1) })
    }
}
