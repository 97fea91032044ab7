import Foundation
import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct BatteryTests {
    @Test(arguments: [
        ("auto", BatterySpecification.auto), ("none", .none), ("file:/run/b", .file("/run/b")),
        ("fixed:12.5", .fixed(12.5)), ("fixed:0", .fixed(0)),
    ])
    func batteriesAreRead(text: String, expected: BatterySpecification) throws {
        #expect(try BatterySpecification.parse(text) == expected)
    }

    @Test(arguments: ["", "AUTO", "file:", "fixed:", "fixed:101", "fixed:-1", "fixed:full", "fixed:nan"])
    func othersAreRefused(text: String) {
        #expect(throws: TrackingError.self) { try BatterySpecification.parse(text) }
    }

    @Test(arguments: [("55\n", 55.0), (" 7.5 % ", 7.5), ("0", 0), ("100", 100)]) func percentagesAreRead(
        text: String, percent: Double
    ) {
        #expect(BatteryPercent.parse(text.utf8) == percent)
    }

    @Test(arguments: ["", "-1", "100.1", "five", "5 5", "%", "1e1", "0x10"]) func othersAreNone(text: String) {
        #expect(BatteryPercent.parse(text.utf8) == nil)
    }

    @Test func aFileIsFollowedAndItsFaultsAreReportedOnce() async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("battery").path
            try await self.whileRunning(FileBattery(path: path, every: .milliseconds(2))) { log in
                let refused = BatteryEvent.badInput("battery file:\(path): the file cannot be read")
                try await log.wait(for: "refusal") { $0 == [refused, .level(nil)] }
                _ = try folder.file("battery", "80")
                try await log.wait(for: "80") { $0.last == .level(80) }
                _ = try folder.file("battery", "79.5\n")
                try await log.wait(for: "79.5") { $0.last == .level(79.5) }
                _ = try folder.file("battery", "rubbish")
                try await log.wait(for: "unknown") { $0.last == .level(nil) }
                let before = log.all.count
                _ = try folder.file("battery", "other rubbish")
                _ = try folder.file("battery", "5")
                try await log.wait(for: "5") { $0.last == .level(5) }
                #expect(log.all.count == before + 1)
            }
        }
    }

    @Test func linuxBatteriesAreAveragedWithoutThoseOfMice() async throws {
        try await withFolder { folder in
            func supply(_ name: String, _ files: [String: String]) throws {
                let supply = folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(at: supply, withIntermediateDirectories: true)
                for (file, text) in files { _ = try supply.file(file, text + "\n") }
            }
            try await self.whileRunning(LinuxBattery(directory: folder.path, every: .milliseconds(2))) { log in
                try await log.wait(for: "no battery") { $0 == [.level(nil)] }
                try supply("AC", ["type": "Mains", "online": "1"])
                try supply("mouse", ["type": "Battery", "scope": "Device", "capacity": "3"])
                try supply("gone", ["type": "Battery", "present": "0", "capacity": "1"])
                try supply("BAT0", ["capacity": "60", "type": "Battery", "present": "1"])
                try await log.wait(for: "60") { $0.last == .level(60) }
                try supply("BAT1", ["capacity": "40", "type": "Battery"])
                try await log.wait(for: "50") { $0.last == .level(50) }
            }
        }
    }

    @Test func aFixedBatteryDeliversItsChargeOnce() async {
        let log = EventLog<BatteryEvent>()
        await FixedBattery(percent: 9).run { log.append($0) }
        #expect(log.all == [.level(9)])
    }

    private func whileRunning(
        _ battery: some BatterySource, _ body: (EventLog<BatteryEvent>) async throws -> Void
    ) async throws {
        let log = EventLog<BatteryEvent>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await battery.run { log.append($0) } }
            try await body(log)
            group.cancelAll()
        }
    }
}
