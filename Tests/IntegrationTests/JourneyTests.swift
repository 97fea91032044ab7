import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// `godwit journey` at a real broker.
@Suite(.timeLimit(.minutes(10))) struct JourneyTests {
    private func journey(_ broker: MosquittoProcess, _ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run(
            "godwit", ["journey"] + arguments + ["--broker", broker.url], environment: ["TZ": "Europe/Vaduz"])
    }

    /// Runs `body` with a client that is connected to the broker.
    private func withClient<Value: Sendable>(
        _ broker: MosquittoProcess, _ body: @escaping @Sendable (MQTTClient) async throws -> Value
    ) async throws -> Value {
        let client = try MQTTClient(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("other")))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            return try await body(client)
        }
    }

    /// The retained journey of a trackable; `nil` without one.
    private func retained(_ broker: MosquittoProcess, _ topic: String) async throws -> Journey? {
        try await self.withClient(broker) { client in
            try await client.withSubscription(to: [topic, "marker"]) { messages in
                try await client.publish(OutgoingMessage(topic: "marker", payload: [1], isRetained: false))
                for try await message in messages {
                    if message.topic == "marker" { return nil }
                    return try MessageCodec.decodeJourney(message.payload)
                }
                return nil
            }
        }
    }

    @Test func aJourneyIsSetShownListedAndCleared() async throws {
        let broker = try await MosquittoProcess.start()
        let set = try await self.journey(
            broker,
            [
                "set", "van 7", "--stop", "47.166,9.51,Depot,2030-05-04T12:30:00Z", "--stop", "-33.9,18.4", "--profile",
                "truck",
            ])
        #expect(set.code == 0, "\(set.errors)")
        #expect(set.output == "van 7: the broker accepted the journey with 2 stops\n")
        let journey = try #require(try await self.retained(broker, "tracking/van=207/journey"))
        #expect(journey.profile == .truck && journey.stops.map(\.name) == ["Depot", nil])
        #expect(journey.stops.map(\.planned) == [UnixTime(1_904_128_200), nil] && journey.stops[0].radius == 150)
        #expect(Swift.Set(journey.stops.map(\.id)).count == 2)

        let plain = try await self.journey(broker, ["show", "van 7"])
        #expect(plain.code == 0, "\(plain.errors)")
        #expect(plain.lines.count == 3 && plain.lines[1].contains("2030-05-04 14:30"), "\(plain.output)")

        let estimate = Estimate(
            time: UnixTime(1_904_120_000), basis: .route,
            stops: [
                Estimate.Stop(id: journey.stops[0].id, eta: UnixTime(1_904_120_000), status: .arrived),
                Estimate.Stop(
                    id: journey.stops[1].id, eta: UnixTime(1_904_131_800), earliest: UnixTime(1_904_131_200),
                    latest: UnixTime(1_904_132_400), distance: 12_345, status: .enRoute),
            ])
        try await self.withClient(broker) { client in
            _ = try await client.publish(
                OutgoingMessage(
                    topic: "tracking/van=207/estimate", payload: try MessageCodec.encode(estimate), isRetained: true))
        }
        let shown = try await self.journey(broker, ["show", "van 7"])
        #expect(shown.lines[1].contains("ARRIVED") && shown.lines[1].contains("Depot"), "\(shown.output)")
        #expect(
            shown.lines[2].contains("2030-05-04 15:30") && shown.lines[2].contains("12.3 km")
                && shown.lines[2].contains("EN_ROUTE"), "\(shown.output)")
        let list = try await self.journey(broker, ["list"])
        #expect(list.lines.count == 2 && list.lines[1].hasPrefix("van 7"), "\(list.output)")
        #expect(list.lines[1].contains("-33.90000,18.40000"), "the next stop, because the first was reached")

        let cleared = try await self.journey(broker, ["clear", "van 7"])
        #expect(cleared.code == 0 && cleared.output == "van 7: the broker cleared the journey\n")
        #expect(try await self.retained(broker, "tracking/van=207/journey") == nil)
        let none = try await self.journey(broker, ["show", "van 7"])
        #expect(none.code == 1 && none.output.isEmpty)
        #expect(none.errors.hasPrefix("Error: cannot show the journey of van 7: there is none."), "\(none.errors)")
        #expect(try await self.journey(broker, ["list"]).output == "")
    }

    /// HH:MM is the next such time of the device's clock: within a day.
    @Test func aTimeOfDayIsTodayOrTomorrow() async throws {
        let broker = try await MosquittoProcess.start()
        let before = Date.now.timeIntervalSince1970
        let times = ["00:00", "06:30", "12:59", "18:00", "23:59"]
        let stops = times.flatMap { ["--stop", "47,9,\($0)"] }
        #expect(try await self.journey(broker, ["set", "van"] + stops).code == 0)
        let journey = try #require(try await self.retained(broker, "tracking/van/journey"))
        let zone = try #require(TimeZone(identifier: "Europe/Vaduz"))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        for (stop, time) in zip(journey.stops, times) {
            let planned = try #require(stop.planned).seconds
            // A day with a change of the clock has 25 hours.
            #expect(planned > before && planned < before + 90_001)
            let parts = calendar.dateComponents([.hour, .minute], from: Date(timeIntervalSince1970: planned))
            let text = String(format: "%02d:%02d", parts.hour ?? -1, parts.minute ?? -1)
            #expect(text == time && stop.name == nil)
        }
    }

    @Test(arguments: [
        (["--stop", "47.166"], "--stop must begin with LAT,LON in degrees, unlike '47.166'"),
        (["--stop", "91,9"], "--stop must begin with LAT,LON in degrees, unlike '91,9'"),
        (["--stop", "47,9,Depot,24:00"], "--stop: '24:00' is no time."),
        (["--stop", "47,9,Depot,14.30"], "--stop: '14.30' is no time."),
        (["--stop", "47,9,Depot,2030-05-04"], "--stop: '2030-05-04' is no time."),
        (["--stop", "47,9", "--radius", "0"], "a radius must be a number of metres from 1 to 100000"),
        (["--stop", "47,9,\(String(repeating: "x", count: 129))"], "stops[0].name must be a string of 1 to 128 bytes"),
        ([], "Missing expected argument '--stop"),
    ])
    func aBadStopIsNamed(arguments: [String], message: String) async throws {
        let result = try await Programs.run("godwit", ["journey", "set", "van"] + arguments)
        #expect(result.code == 64 && result.output.isEmpty)
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test func moreThan200StopsAreRefused() async throws {
        let stops = (0...200).flatMap { ["--stop", "47,\(Double($0) / 10)"] }
        let result = try await Programs.run("godwit", ["journey", "set", "van"] + stops)
        #expect(result.code == 64 && result.errors.contains("stops must have at most 200 elements"), "\(result.errors)")
    }

    @Test func withoutABrokerTheCommandFails() async throws {
        let port = try LoopbackPort.free()
        let result = try await Programs.run(
            "godwit", ["journey", "clear", "van", "--broker", "mqtt://127.0.0.1:\(port)"])
        #expect(result.code == 69 && result.output.isEmpty, "\(result.output) \(result.errors)")
    }

    // MARK: - Share links

    /// Runs `godwit share`, with the journeys of this broker.
    private func share(_ broker: String, _ state: String, _ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run(
            "godwit", ["share"] + arguments, environment: ["GODWIT_STATE": state, "GODWIT_BROKER": broker])
    }

    @Test func aLinkIsMadeOnlyForAStopOfTheJourney() async throws {
        let broker = try await MosquittoProcess.start()
        let state = FileManager.default.temporaryDirectory.appending(path: "godwit-stops-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: state) }
        let place = try #require(Coordinate(latitude: 47.166, longitude: 9.51))
        let journey = Journey(stops: ["order-11", "order-22"].map { Journey.Stop(id: $0, location: place) })
        try await self.withClient(broker) { client in
            _ = try await client.publish(
                OutgoingMessage(
                    topic: "tracking/van/journey", payload: try MessageCodec.encode(journey), isRetained: true))
        }
        let wrong = try await self.share(broker.url, state, ["van", "--for", "1h", "--stop", "order-1"])
        #expect(wrong.code == 1 && wrong.output.isEmpty, "\(wrong.output)")
        #expect(
            wrong.errors.contains(
                "Error: cannot share van for the stop 'order-1': its journey has no such stop. Did you mean order-11"),
            "\(wrong.errors)")
        #expect(wrong.errors.contains("Its stops are 'order-11', 'order-22'."), "\(wrong.errors)")
        let nowhere = "mqtt://127.0.0.1:\(try LoopbackPort.free())"
        let away = try await self.share(nowhere, state, ["van", "--for", "1h", "--stop", "order-11"])
        #expect(away.code == 69 && away.output.isEmpty, "\(away.output)")
        #expect(
            away.errors.contains("cannot check that the journey of van has the stop 'order-11'")
                && away.errors.contains("by --broker; or give --yes"), "\(away.errors)")
        #expect(try await self.share(broker.url, state, ["list"]).output.isEmpty, "no link was made")

        let right = try await self.share(broker.url, state, ["van", "--for", "1h", "--stop", "order-22"])
        #expect(right.code == 0 && right.output.contains("/s/gs_"), "\(right.errors)")
        #expect(!right.errors.contains("order-22"), "\(right.errors)")
        let early = try await self.share(broker.url, state, ["bus", "--for", "1h", "--stop", "order-22"])
        #expect(early.code == 0 && early.output.contains("/s/gs_"), "\(early.errors)")
        #expect(early.errors.contains("the broker has no journey of it"), "\(early.errors)")
        let asked = try await self.share(nowhere, state, ["van", "--for", "1h", "--stop", "order-1", "--yes"])
        #expect(asked.code == 0 && asked.output.contains("/s/gs_"), "\(asked.errors)")
        // Without --stop, the command needs no broker.
        let plain = try await self.share(nowhere, state, ["van", "--for", "1h"])
        #expect(plain.code == 0 && plain.output.contains("/s/gs_"), "\(plain.errors)")
    }
}
