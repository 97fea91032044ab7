import Testing
import TrackingCore

/// SplitMix64, which gives the same numbers on every run.
struct WireGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

    /// A random member of `elements`, which must not be empty.
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &self)! }

    mutating func maybe<Value>(_ value: (inout WireGenerator) -> Value) -> Value? {
        self.chance(0.6) ? value(&self) : nil
    }

    /// A number as in fixes: whole, with few decimals, or with every bit used.
    mutating func number(_ range: ClosedRange<Double>) -> Double {
        let value = Double.random(in: range, using: &self)
        let scale = self.pick([1, 10, 100, 1e7, 0])
        return scale == 0 ? value : min(max((value * scale).rounded() / scale, range.lowerBound), range.upperBound)
    }

    mutating func text(upTo count: Int) -> String {
        let alphabet = [
            "a", "Z", "7", "_", "-", " ", "\"", "\\", "/", "\n", "\u{1}", "é", "…", "漢", "🚲", "\u{7F}", "\u{2028}",
        ]
        var text = ""
        while text.utf8.count < count - 4, self.chance(0.9) { text += self.pick(alphabet) }
        return text
    }

    mutating func location() -> Location {
        var location = Location(
            coordinate: Coordinate(latitude: self.number(-90...90), longitude: self.number(-180...180))!,  // in range
            time: UnixTime(self.number(0...2e9)))
        location.altitude = self.maybe { $0.number(-430...9000) }
        location.accuracyHorizontal = self.maybe { $0.number(0...500) }
        location.accuracyVertical = self.maybe { $0.number(0...500) }
        location.bearing = self.maybe { $0.number(0...359.9) }
        location.accuracyBearing = self.maybe { $0.number(0...180) }
        location.speed = self.maybe { $0.number(0...90) }
        location.accuracySpeed = self.maybe { $0.number(0...10) }
        location.floor = self.maybe { Int.random(in: -5...120, using: &$0) }
        location.seq = self.maybe { UInt64.random(in: 1...WireLimits.maximumInteger, using: &$0) }
        location.batteryLevel = self.maybe { $0.number(0...1) }
        location.mode = self.maybe { $0.pick(TrackingMode.allCases) }
        location.motion = self.chance(0.3) ? Motion.allCases.shuffled(using: &self) : []
        location.tripID = self.maybe { $0.pick(["5f2c", "7, \"the\" trip", "Straße 🚲"]) }
        location.source = self.maybe { $0.pick(SourceKind.allCases) }
        location.extra = self.chance(0.2) ? Array(#"{ "a": [1, 2.50, {"b":"\u00e9"}] }"#.utf8) : nil
        return location
    }

    mutating func update() -> LocationUpdate {
        var update = LocationUpdate(location: self.location(), kind: self.pick(LocationUpdate.Kind.allCases))
        update.location.stream = self.maybe { StreamID.random(using: &$0) }
        for _ in 0..<(self.chance(0.3) ? Int.random(in: 1...8, using: &self) : 0) {
            var point = self.location()
            point.stream = self.chance(0.1) ? StreamID.random(using: &self) : update.location.stream
            update.skipped.append(point)
        }
        if self.chance(0.1) { update.intermediate = [self.location()] }
        return update
    }
}

/// Expects an `invalidPayload` whose sentence is `message`.
func expectRefused(
    _ message: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws(TrackingError) -> some Any
) {
    do throws(TrackingError) {
        let value = try body()
        Issue.record("accepted as \(value); expected: \(message)", sourceLocation: sourceLocation)
    } catch {
        #expect(error.code == .invalidPayload, sourceLocation: sourceLocation)
        #expect(error.message == message, sourceLocation: sourceLocation)
    }
}

extension String {
    /// The bytes of this text as a payload.
    var payload: [UInt8] { Array(self.utf8) }
}
