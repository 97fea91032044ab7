import Testing
import TrackingCore

@testable import TrackingPublisher

/// Predicted positions while the source has no fix.
@Suite struct PredictionTests {
    private func talk(
        _ configure: (inout PublisherConfiguration) throws -> Void = { _ in }
    ) throws -> PublisherConversation {
        var failure: (any Error)?
        let talk = try PublisherConversation.online {
            $0.predictsFor = .seconds(20)
            $0.sensorResolution = try? Resolution(
                accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 0)
            $0.defaultResolution = $0.sensorResolution ?? $0.defaultResolution
            do { try configure(&$0) } catch { failure = error }
        }
        if let failure { throw failure }
        return talk
    }

    /// Publishes a fix, `metres` north of the first, of a trackable that drives north.
    private func drive(
        _ talk: inout PublisherConversation, at second: Double, metres: Double = 0, speed: Double = 10
    ) throws -> [String] {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: metres / 111_195, longitude: 1)),
            time: UnixTime(1_000 + second))
        (fix.speed, fix.bearing) = (speed, 0)
        return talk.happened(.fix(fix, raw: fix)) + talk.acked()
    }

    private func position(_ talk: PublisherConversation) throws -> LocationUpdate {
        try LocationCodec.decode(try #require(talk.said["tracking/van"]))
    }

    private func predictions(_ said: [String]) -> Int { said.count { $0 == "van: update 0" } }

    @Test func positionsArePredictedWhileTheSourceHasNoFix() throws {
        var talk = try self.talk()
        _ = try self.drive(&talk, at: 5, metres: 50)
        let count = talk.log.values.reduce(0) { $0 + $1.count }
        #expect(self.predictions(talk.wait(.seconds(2.9))) == 0)
        #expect(self.predictions(talk.wait(.seconds(0.2))) == 1)
        let update = try self.position(talk)
        #expect(update.kind == .predicted && update.skipped.isEmpty && update.location.source == .predicted)
        #expect(Int((update.location.coordinate.latitude * 111_195).rounded()) == 80)
        #expect(update.location.time == UnixTime(1_008) && update.location.seq == nil)
        #expect(self.predictions(talk.wait(.seconds(1))) == 1)
        // Not beyond the configured time, and never in the log.
        #expect(self.predictions(talk.wait(.seconds(60))) == 16)
        #expect(talk.log.values.reduce(0) { $0 + $1.count } == count)
    }

    @Test func aFixEndsThePredictionsAndIsComparedWithTheLastFix() throws {
        var talk = try self.talk {
            $0.defaultResolution = try Resolution(
                accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 30)
        }
        _ = try self.drive(&talk, at: 5, metres: 50)
        _ = talk.wait(.seconds(6))
        #expect(try self.position(talk).kind == .predicted)
        // 40 m after the last fix, although 20 m before the prediction.
        let said = try self.drive(&talk, at: 11, metres: 90)
        #expect(said.contains("van: update 3"), "\(said)")
        #expect(try self.position(talk).kind == .actual)
        #expect(self.predictions(talk.wait(.seconds(2.9))) == 0)
    }

    @Test func nothingIsPredictedByDefaultOrForAStationaryTrackable() throws {
        var talk = try self.talk { $0.predictsFor = nil }
        _ = try self.drive(&talk, at: 5, metres: 50)
        #expect(self.predictions(talk.wait(.seconds(30))) == 0)
        var other = try self.talk()
        _ = try self.drive(&other, at: 5, metres: 50, speed: 0.2)
        #expect(self.predictions(other.wait(.seconds(30))) == 0)
    }

    @Test func nothingIsPredictedWithoutAConnectionOrAfterTheEnd() throws {
        var talk = try self.talk()
        _ = try self.drive(&talk, at: 5, metres: 50)
        _ = talk.lose()
        #expect(self.predictions(talk.wait(.seconds(4))) == 0)
        var other = try self.talk()
        _ = try self.drive(&other, at: 5, metres: 50)
        _ = other.happened(.stop(by: nil))
        #expect(self.predictions(other.wait(.seconds(4))) == 0)
    }

    @Test func aRetainedPredictionInANewPrivacyZoneIsReplaced() throws {
        var talk = try self.talk {
            $0.capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([]))
        }
        _ = try self.drive(&talk, at: 5, metres: 50)
        _ = talk.wait(.seconds(6))
        #expect(try self.position(talk).kind == .predicted)
        let center = try #require(Coordinate(latitude: 110 / 111_195, longitude: 1))
        let zone = try PrivacyZone(name: "home", center: center, radius: 30, rule: .omit)
        var next = talk.machine.configuration
        next.capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([zone]))
        _ = talk.happened(.configure(next))
        let update = try self.position(talk)
        #expect(update.kind == .actual && Int((update.location.coordinate.latitude * 111_195).rounded()) == 50)
        #expect(self.predictions(talk.wait(.seconds(30))) == 0)
    }

    /// The zone begins 100 m ahead.
    @Test func noPredictionLeadsIntoAPrivacyZone() throws {
        var talk = try self.talk {
            let center = try #require(Coordinate(latitude: 250 / 111_195, longitude: 1))
            let zone = try PrivacyZone(name: "home", center: center, radius: 100, rule: .omit)
            $0.capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([zone]))
        }
        _ = try self.drive(&talk, at: 5, metres: 50)
        _ = talk.wait(.seconds(30))
        let update = try self.position(talk)
        #expect(update.kind == .predicted)
        #expect(update.location.coordinate.latitude * 111_195 < 150)
        // A fix within the zone ends the predictions that began outside.
        _ = try self.drive(&talk, at: 40, metres: 100)
        _ = try self.drive(&talk, at: 41, metres: 200)
        #expect(self.predictions(talk.wait(.seconds(30))) == 0)
    }
}
