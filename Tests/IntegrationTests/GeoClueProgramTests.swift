import Foundation
import TestSupport
import Testing

/// An agent with a receiver and GeoClue, with a real Mosquitto and a real D-Bus bus. The receiver is a server of NMEA: it
/// is awake while the agent is connected to it.
@Suite(.timeLimit(.minutes(10))) struct GeoClueProgramTests {
    private struct Scene {
        let broker: MosquittoProcess
        let bus: PrivateBus
        let geoClue: FakeGeoClue
        let receiver: LineServer
        let tap: WireTap

        static func start() async throws -> Scene {
            let (broker, bus) = (try await MosquittoProcess.start(), try await PrivateBus.start())
            return Scene(
                broker: broker, bus: bus, geoClue: try await FakeGeoClue.start(on: bus), receiver: try LineServer(),
                tap: try await WireTap.listen(to: broker))
        }

        func agent(_ options: [String]) throws -> RunningProgram {
            try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van", "--source", "nmea:tcp://127.0.0.1:\(self.receiver.port)", "--source",
                    "geoclue:", "--broker", self.broker.url, "--battery", "none", "--spool", "memory",
                ] + options, environment: ["DBUS_SYSTEM_BUS_ADDRESS": self.bus.address])
        }

        /// The number of times that the agent has connected to the receiver.
        var wakings: Int { self.receiver.arrivals.count }

        /// The places of all points that were published.
        var places: [[Double]] {
            self.tap.points(of: "van").compactMap {
                ($0["geometry"] as? [String: Any])?["coordinates"] as? [Double]
            }.map { Array($0.prefix(2)) }
        }

        func hasPlace(_ longitude: Double, _ latitude: Double) -> Bool {
            self.places.contains { abs($0[0] - longitude) < 1e-6 && abs($0[1] - latitude) < 1e-6 }
        }

        func waitForPlace(_ longitude: Double, _ latitude: Double) async throws {
            try await self.tap.wait { _ in self.hasPlace(longitude, latitude) }
        }
    }

    private func fix(_ latitude: Double, _ longitude: Double, seconds: Int = 0) -> String {
        NMEAText.fix(at: Int(Date.now.timeIntervalSince1970) + seconds, latitude: latitude, longitude: longitude)
    }

    @Test func geoClueServesLowAndTheReceiverHigh() async throws {
        let scene = try await Scene.start()
        let agent = try scene.agent(["--default-resolution", "LOW/1000/0"])
        try await scene.geoClue.wait(for: "started")
        try await scene.receiver.waitUntilDeserted()
        scene.geoClue.move(latitude: 52.5, longitude: 13.25)
        try await scene.waitForPlace(13.25, 52.5)
        let point = try #require(scene.tap.points(of: "van").first)
        let properties = WireTap.properties(point)
        #expect(properties["source"] as? String == "network" && properties["accuracyHorizontal"] as? Double == 300)

        let wakings = scene.wakings
        let watcher = try Programs.start(
            "godwit", ["watch", "van", "--broker", scene.broker.url, "--resolution", "HIGH/1000/0"])
        try await waitUntil { scene.wakings > wakings }
        try await waitUntil {
            scene.receiver.send(self.fix(52.6, 13.5))
            return scene.hasPlace(13.5, 52.6)
        }
        try await scene.geoClue.wait(for: "left")

        let starts = scene.geoClue.count(of: "started")
        watcher.terminate()
        try await scene.geoClue.wait(for: "started", count: starts + 1)
        try await scene.receiver.waitUntilDeserted()
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    @Test func aSignificantChangeOfTheNetworkWakesTheReceiver() async throws {
        let scene = try await Scene.start()
        scene.receiver.welcome(with: self.fix(52.5, 13.25))
        let agent = try scene.agent(["--default-resolution", "BALANCED/1000/0", "--significant-change", "only"])
        try await scene.waitForPlace(13.25, 52.5)
        try await scene.geoClue.wait(for: "started")
        try await scene.receiver.waitUntilDeserted()

        let wakings = scene.wakings
        scene.geoClue.move(latitude: 52.501, longitude: 13.25)
        scene.receiver.welcome(with: self.fix(52.52, 13.25, seconds: 1))
        scene.geoClue.move(latitude: 52.521, longitude: 13.25)
        try await scene.waitForPlace(13.25, 52.52)
        try await scene.receiver.waitUntilDeserted()
        #expect(scene.wakings == wakings + 1)
        #expect(!scene.hasPlace(13.25, 52.501) && !scene.hasPlace(13.25, 52.521))
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    /// Without GeoClue, the receiver serves the trackable, and the log names the remedy.
    @Test func theReceiverReplacesAMissingGeoClue() async throws {
        let scene = try await Scene.start()
        try await scene.geoClue.end()
        scene.receiver.welcome(with: self.fix(52.5, 13.25))
        let agent = try scene.agent(["--default-resolution", "LOW/1000/0"])
        try await agent.waitForLog("GeoClue is not installed")
        try await scene.waitForPlace(13.25, 52.5)
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }
}
