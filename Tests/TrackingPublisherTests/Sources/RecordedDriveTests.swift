import TestSupport
import Testing
import TrackingCore

@testable import TrackingPublisher

/// Recorded drives through the deciders of the capture.
@Suite struct RecordedDriveTests {
    private func fixes(_ name: String) async throws -> [Location] {
        let (log, error) = await runToEnd(RecordingSource(.gpx, file: try Tracks.path(name), pace: .maximum))
        #expect(error == nil)
        return log.fixes
    }

    /// A device that hears these fixes when they were made.
    private func moment(_ fix: Location) -> Moment {
        Moment(now: MonotonicTime(.seconds(fix.time.seconds)), wall: fix.time)
    }

    @Test(.enabled(if: Tracks.folder != nil, "the shared recordings are not here (GODWIT_TRACKS)"))
    func aBusRideIsOneTripOfItsLengthAndDrives() async throws {
        let fixes = try await self.fixes("limerick_bus/304_to_UL_2019-02-18.gpx")
        var trips = TripStateMachine(
            automatic: try TripMode("bus"), rest: PauseStateMachine(activity: .automotive), seed: 1)
        var motion = MotionStateMachine(activity: .automotive)
        var versions: [Trip] = []
        var motions: [Motion: Int] = [:]
        var seq: UInt64 = 0
        let stream = try #require(StreamID("bus"))
        for fix in fixes {
            let labelled = motion.label(fix)
            for name in labelled.motion { motions[name, default: 0] += 1 }
            for isRecorded in [false, true] {
                let name = RecordName(stream: stream, seq: seq + 1)
                let change =
                    isRecorded
                    ? trips.recorded(labelled, at: self.moment(fix), next: name)
                    : trips.moved(labelled, at: self.moment(fix), next: name)
                if let change {
                    seq += 1
                    versions.append(change.trip)
                }
            }
        }
        let last = try #require(fixes.last)
        versions.append(try trips.stop(at: self.moment(last), next: RecordName(stream: stream, seq: seq + 1)).trip)
        let whole = zip(fixes, fixes.dropFirst()).reduce(0.0) {
            $0 + $1.0.coordinate.distance(to: $1.1.coordinate).value
        }
        let trip = try #require(versions.last)
        print(
            "trip \(Int(trip.distance)) of \(Int(whole)) m in \(Int(trip.duration)) s, \(versions.count) versions, \(motions)"
        )
        #expect(Set(versions.map(\.id)).count == 1)
        #expect(versions.filter { $0.state == .ended }.count == 1)
        #expect(trip.distance <= whole && trip.distance > whole - 200)
        #expect(zip(versions, versions.dropFirst()).allSatisfy { $0.distance <= $1.distance && $0.seq < $1.seq })
        #expect(Set(motions.keys) == [.driving, .stationary])
        #expect(motions[.driving, default: 0] > 3 * motions[.stationary, default: 0])
    }

    @Test(.enabled(if: Tracks.folder != nil, "the shared recordings are not here (GODWIT_TRACKS)"))
    func aZoneOnTheWayHidesEveryPointInIt() async throws {
        let fixes = try await self.fixes("limerick_bus/304_to_UL_2019-02-18.gpx")
        let center = fixes[fixes.count / 2].coordinate
        for rule in PrivacyZone.Rule.allCases {
            var zones = try PrivacyZones([PrivacyZone(name: "stop", center: center, radius: 300, rule: rule)])
            var crossings = 0
            var hidden = 0
            for fix in fixes {
                let verdict = zones.moved(fix)
                crossings += verdict.crossings.count
                guard let shown = verdict.location else {
                    hidden += 1
                    continue
                }
                if shown.source == .zone { hidden += 1 }
                let isInside = shown.coordinate.distance(to: center).value <= 300
                #expect(!isInside || (rule == .replace && shown.coordinate == center))
            }
            #expect(hidden > 10 && crossings >= 2 && crossings.isMultiple(of: 2))
        }
    }
}
