import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct SourceSpecificationTests {
    @Test(arguments: [
        ("gpsd://h", SourceSpecification(.gpsd(host: "h", port: 2947))),
        ("gpsd://127.0.0.1:2948#accuracy=MAXIMUM", .init(.gpsd(host: "127.0.0.1", port: 2948), accuracy: .maximum)),
        (
            "gpsd://[::1]:2948#cycle=keep,accuracy=low",
            .init(.gpsd(host: "::1", port: 2948), accuracy: .low, asksForCycle: false)
        ),
        ("gpsd://[::1]", .init(.gpsd(host: "::1", port: 2947))),
        ("nmea:-", .init(.nmeaStandardInput)),
        ("nmea:tcp://h:10110", .init(.nmeaServer(host: "h", port: 10110))),
        ("nmea:/dev/ttyUSB0#speed=115200", .init(.nmeaPath("/dev/ttyUSB0"), lineSpeed: 115_200)),
        ("nmea:a:b#c.log", .init(.nmeaPath("a:b#c.log"))),
        ("gpx:dir/track#1.gpx#accuracy=BALANCED", .init(.gpx("dir/track#1.gpx"), accuracy: .balanced)),
        ("jsonl:-", .init(.jsonLinesStandardInput)),
        ("jsonl:fixes.jsonl#", .init(.jsonLines("fixes.jsonl"))),
        ("mqtt://h/tracking/van-8", .init(.topic(broker: "mqtt://h", topic: "tracking/van-8"))),
        (
            "mqtts://me:p%2Fw@[::1]:8884/a/b#accuracy=LOW",
            .init(.topic(broker: "mqtts://me:p%2Fw@[::1]:8884", topic: "a/b"), accuracy: .low)
        ),
        ("geoclue:", .init(.geoClue, accuracy: .low)),
        ("geoclue:#accuracy=BALANCED", .init(.geoClue, accuracy: .balanced)),
        ("simulate:", .init(.simulation)),
        ("simulate:#seed=7,accuracy=LOW", .init(.simulation, accuracy: .low, seed: 7)),
    ])
    func sourcesAreRead(text: String, expected: SourceSpecification) throws {
        #expect(try SourceSpecification.parse(text) == expected)
    }

    @Test(arguments: [
        ("", "is unknown"), ("gps", "is unknown"), ("gpsd:h", "is unknown"), ("simulate:x", "is unknown"),
        ("geoclue:x", "is unknown"),
        ("GPX:a", "is unknown"), ("gpsd://", "must have the form gpsd://host"), ("gpsd://h:0", "must have the form"),
        ("gpsd://h:99999", "must have the form"), ("gpsd://h:", "must have the form"),
        ("gpsd://u:p@h", "must have the form"), ("nmea:tcp://h", "must have the form nmea:tcp://host:port"),
        ("gpx:", "names no file"), ("gpx:-", "names no file"),
        ("nmea:", "names no file"), ("jsonl:", "names no file"),
        ("simulate:#accuracy=GOOD", "accuracy must be MINIMUM, LOW"),
        ("simulate:#colour=red", "must be accuracy="),
        ("gpsd://h#speed=9600", "speed requires nmea:/dev/ttyX"), ("nmea:/dev/ttyS0#speed=9601", "one of 1200, 2400"),
        ("gpsd://h#cycle=ask", "cycle=keep or seed"),
        ("mqtt://h", "must have the form mqtt[s]://"), ("mqtt://h/", "must have the form mqtt[s]://"),
        ("mqtt:///t", "must have the form"), ("mqtt://h/a/+", "without the wildcards"),
        ("mqtt:h/a", "is unknown"), ("mqtt://h/a#b", "without the wildcards"),
        ("mqtt://me:secret@h/a/#", "source 'mqtt://h/a/' must have the form"),
        ("mqtt://me:secret@h/a#colour=red", "source 'mqtt://h/a#colour=red'"),
        ("MQTTS://me:secret@h/t", "source 'MQTTS://h/t' is unknown"),
        ("mqtts://u:se/cret@h/t#accuracy=X", "source 'mqtts://h/t"), ("mqtts://u:12/34@h/t", "write / as %2F"),
        ("simulate:#seed=0", "a number from 1 on"), ("gpsd://h#seed=1", "seed requires simulate:"),
    ])
    func othersAreRefusedWithWhatWouldDo(text: String, message: String) {
        do throws(TrackingError) {
            _ = try SourceSpecification.parse(text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error.code == .invalidConfiguration && error.message.contains(message))
            #expect(!["secret", "cret@", "34@"].contains { error.message.contains($0) }, "no password is printed")
        }
    }

    @Test(arguments: [
        ("gpsd://h:1", "gpsd://h:1", SourceKind.gps, false, true),
        ("nmea:tcp://h:1", "nmea:tcp://h:1", .gps, false, true),
        ("nmea:/dev/nothing", "nmea:/dev/nothing", .gps, false, true),
        ("nmea:/dev/null", "nmea:/dev/null", .gps, false, true),
        ("nmea:nothing.log", "nmea:nothing.log", .replay, true, false), ("nmea:-", "nmea:-", .gps, true, false),
        ("gpx:a", "gpx:a", .replay, true, false), ("jsonl:a", "jsonl:a", .replay, true, false),
        ("geoclue:", "geoclue:", .network, false, true),
        ("jsonl:-", "jsonl:-", .gps, true, false), ("simulate:", "simulate:#accuracy=LOW", .simulated, false, false),
    ])
    func sourcesAreMade(text: String, name: String, kind: SourceKind, isFinite: Bool, isLive: Bool) throws {
        let facts = try SourceSpecification.parse(text + "#accuracy=LOW").makeSource().facts
        #expect(facts == SourceFacts(name: name, kind: kind, isFinite: isFinite, isLive: isLive, accuracy: .low))
    }

    @Test func aSimulationHasNoFullSpeed() throws {
        let specification = try SourceSpecification.parse("simulate:")
        #expect(throws: TrackingError.self) { try specification.makeSource(pace: .maximum) }
    }
}
