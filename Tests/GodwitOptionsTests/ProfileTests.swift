import ArgumentParser
import Foundation
import GodwitOptions
import Testing
import TrackingCore

private struct Device: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "device")
    @OptionGroup var capture: CaptureOptions
    @Option var batchSize = 200
    @Option var batchWindow = "20"
    @Option var keepPoints = "off"
    @Option var onCollision = "keep"
    @Option var config: String?
}

/// The options of the agent that profiles set and that are not about capturing.
private let othersOptions: Set = ["batch-size", "batch-window", "keep-points", "on-collision"]

@Suite struct ProfileTests {
    private func parse(
        _ arguments: [String], _ environment: [String: String] = [:], file: String? = nil
    ) throws -> Device {
        var environment = environment
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        if let file {
            try file.write(toFile: path, atomically: true, encoding: .utf8)
            environment["GODWIT_CONFIG"] = path
        }
        let merged = try LayeredArguments.merge(arguments, environment: environment, for: Device.self)
        return try #require(try Device.parseAsRoot(merged) as? Device)
    }

    @Test(arguments: [
        (Profile.highResolution, "MAXIMUM/1000/0", TrackingMode.active),
        (.batterySaving, "BALANCED/120000/200", .passive),
        (.overland, "BALANCED/1000/0", .custom), (.nextbillion, "HIGH/1000/0", .active),
    ])
    func aProfileIsARateOfTheReceiver(profile: Profile, resolution: String, mode: TrackingMode) throws {
        let device = try self.parse(["--profile", profile.rawValue])
        let rate = try device.capture.resolution
        #expect(rate.argumentText == resolution)
        #expect(device.capture.modeInForce == mode)
    }

    /// The figures of the two usage profiles in Overland's documentation. "Significant location: enabled" records
    /// significant changes in addition to the other points.
    @Test func theUsageProfilesHaveTheFiguresOfOverlandsDocumentation() throws {
        let fine = try self.parse(["--profile", "high-resolution"]).capture
        #expect(fine.pause == .off && fine.pauseRadius == nil && fine.significantChange == .also(500))
        #expect(fine.activity == .other && fine.desiredAccuracy == .best && fine.deferredDistance == 100)
        let saving = try self.parse(["--profile", "battery-saving"]).capture
        #expect(saving.pause == .on && saving.pauseRadius == 500 && saving.significantChange == .also(500))
        #expect(saving.activity == .other && saving.desiredAccuracy == .hundredMetres && saving.deferredDistance == 0)
    }

    @Test func theLineWinsOverTheEnvironmentOverTheFileOverTheProfile() throws {
        let file = "profile: nextbillion\nbatch-size: 31\nbatch-window: 21\nlow-battery: 11\n"
        let device = try self.parse(
            ["--batch-size", "33"], ["GODWIT_BATCH_SIZE": "32", "GODWIT_BATCH_WINDOW": "22"], file: file)
        #expect(device.batchSize == 33)
        #expect(device.batchWindow == "22")
        #expect(device.capture.lowBattery == 11)
        #expect(device.keepPoints == "5000")
        #expect(device.onCollision == "clear")
        #expect(device.capture.profile == .nextbillion)
    }

    @Test func aProfileOfAHigherLayerTakesThePlaceOfALower() throws {
        let device = try self.parse(["--profile=overland"], ["GODWIT_PROFILE": "nextbillion"])
        #expect(device.batchSize == 200)
        #expect(device.onCollision == "keep")
        #expect(try self.parse([], ["GODWIT_PROFILE": "nextbillion"]).batchSize == 30)
    }

    @Test func anUnknownProfileIsRefused() {
        #expect(throws: (any Error).self) { try self.parse(["--profile", "fast"]) }
        #expect(throws: (any Error).self) { try self.parse([], ["GODWIT_PROFILE": "fast"]) }
    }

    @Test func everyKeyIsAnOptionOfTheAgent() throws {
        let help = CaptureOnly.helpMessage(includeHidden: true)
        for key in Profile.allCases.flatMap(\.keys) where !othersOptions.contains(key.name) {
            #expect(help.contains("--\(key.name) "), "\(key.name)")
        }
    }

    private struct CaptureOnly: ParsableCommand { @OptionGroup var capture: CaptureOptions }
}

@Suite struct CaptureOptionsTests {
    private func parse(_ arguments: String...) throws -> CaptureOptions { try CaptureOptions.parse(arguments) }

    @Test func withoutOptionsEverythingIsRecordedAndShown() throws {
        let options = try self.parse()
        #expect(try options.captureFilter == CaptureFilter())
        #expect(try options.privacyZones == PrivacyZones())
        #expect(try options.pauseMachine == nil)
        #expect(options.stats(accuracy: .high) == nil)
        #expect(try options.resolution == .standard)
        #expect(options.modeInForce == nil)
    }

    @Test func theOptionsOfAFilterAreItsFigures() throws {
        let options = try self.parse(
            "--minimum-distance", "10", "--minimum-time", "2.5", "--maximum-accuracy-radius", "50",
            "--significant-change", "200")
        let filter = try CaptureFilter(
            minimumDistance: 10, minimumTime: .seconds(2.5), maximumAccuracyRadius: 50, significantChange: .also(200))
        #expect(try options.captureFilter == filter)
    }

    @Test func anActivitySetsThePauseAndItsOptionsWin() throws {
        let figures = try PauseStateMachine(radius: 25, after: .seconds(120))
        #expect(try self.parse("--activity", "fitness", "--pause", "on").pauseMachine == figures)
        let given = try self.parse(
            "--activity", "fitness", "--pause", "on", "--pause-radius", "70", "--pause-after", "60")
        #expect(try given.pauseMachine == PauseStateMachine(radius: 70, after: .seconds(60)))
    }

    @Test func theOptionsMakeTheMachines() throws {
        let options = try self.parse(
            "--mode", "active", "--mock", "reject", "--activity", "automotive", "--pause", "on", "--visits",
            "--zone", "home,52.6,-8.6,100", "--tracking-stats", "--minimum-distance", "5", "--automatic-trips", "car")
        let machine = try options.captureMachine
        #expect(machine.configuration.mode == .active)
        #expect(machine.configuration.mock == .reject)
        #expect(machine.configuration.activity == .automotive)
        #expect(machine.configuration.pause == PauseStateMachine(activity: .automotive))
        #expect(machine.configuration.reportsVisits)
        #expect(machine.configuration.stats?.desiredAccuracy == .tenMetres)
        #expect(machine.zones.zones.map(\.name) == ["home"])
        #expect(try machine.filter == CaptureFilter(minimumDistance: 5))
        #expect(try options.trips(seed: 1).automatic == TripMode("car"))
        #expect(try self.parse().trips(seed: 1).automatic == nil)
    }

    @Test func zonesAreReadInEitherForm() throws {
        let options = try self.parse("--zone", "home,52.6,-8.6,100", "--zone", "the office, 52.7, -8.7, 250,omit")
        #expect(options.zone.map(\.name) == ["home", "the office"])
        #expect(options.zone.map(\.rule) == [.replace, .omit])
        #expect(options.zone[1].radius == 250)
    }

    @Test(arguments: [
        ["--zone", "home,52.6,-8.6"], ["--zone", "home,52.6,-8.6,5"], ["--zone", "home,92,-8.6,100"],
        ["--zone", "home,52.6,-8.6,100,hide"], ["--zone", "a,1,1,100", "--zone", "a,2,2,100"],
        ["--minimum-distance=-1"], ["--minimum-time", "1e300"], ["--maximum-accuracy-radius", "0"],
        ["--significant-change", "0"], ["--significant-change", "often"], ["--pause-after", "0"],
        ["--pause-radius", "nan"], ["--low-battery", "101"], ["--desired-accuracy", "50"],
        ["--activity", "flying"], ["--mode", "fast"], ["--mock", "maybe"], ["--automatic-trips", ""],
    ])
    func valuesOutOfRangeAreRejected(arguments: [String]) {
        #expect(throws: (any Error).self) { try CaptureOptions.parse(arguments) }
    }

    @Test func theDesiredAccuracyReplacesThatOfTheMode() throws {
        let options = try self.parse("--mode", "balanced", "--desired-accuracy", "best", "--tracking-stats")
        #expect(try options.resolution.argumentText == "MAXIMUM/15000/25")
        #expect(options.modeInForce == .balanced)
        #expect(try self.parse("--mode", "balanced", "--default-resolution", "HIGH/1000/0").modeInForce == .custom)
        #expect(options.stats(accuracy: .maximum)?.desiredAccuracy == .best)
    }
}

@Suite struct DisplayUnitsTests {
    @Test(arguments: [
        (DisplayUnits.metric, "29.5 km/h", "830 m", "12.4 km", "19 m"),
        (.imperial, "18.3 mph", "2723 ft", "7.7 mi", "62 ft"), (.nautical, "15.9 kn", "830 m", "6.7 nmi", "19 m"),
    ])
    func figuresAreWrittenForPeople(units: DisplayUnits, speed: String, short: String, long: String, height: String) {
        #expect(units.speed(8.2) == speed)
        #expect(units.distance(830) == short)
        #expect(units.distance(12_400) == long)
        #expect(units.length(19) == height)
    }
}
