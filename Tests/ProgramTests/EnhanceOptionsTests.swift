import ArgumentParser
import Testing
import TrackingCore

@testable import godwit

@Suite struct EnhanceOptionsTests {
    private static let engine = ["--engine", "valhalla:http://127.0.0.1:8002"]

    @Test func aProfileIsOfAllTrackablesOrOfOne() throws {
        let rules = try Enhance.parse(Self.engine + ["--profile", "truck", "--profile", "van=7=bicycle"]).profile
        #expect(rules.map(\.profile) == [.truck, .bicycle])
        #expect(rules.map(\.trackable) == [nil, try TrackableID("van=7")])
    }

    @Test(arguments: [["train"], ["van="], ["=truck"], ["truck=van"], ["truck", "bus"], ["van=truck", "van=bus"]])
    func aWrongProfileIsRefused(profiles: [String]) {
        #expect(throws: (any Error).self) {
            try Enhance.parse(Self.engine + profiles.flatMap { ["--profile", $0] })
        }
    }
}
