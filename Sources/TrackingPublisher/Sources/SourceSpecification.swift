public import TrackingCore

/// A source of positions as its user writes it: `gpsd://127.0.0.1:2947#accuracy=HIGH`.
///
/// | text | source |
/// |---|---|
/// | `gpsd://host[:port]` | the receivers of a gpsd, by default at port 2947 |
/// | `nmea:FILE` | recorded NMEA; a device (`/dev/ttyUSB0`) is a receiver on a serial line |
/// | `nmea:-` | NMEA on standard input |
/// | `nmea:tcp://host:port` | NMEA from a server |
/// | `gpx:FILE` | a GPX track |
/// | `jsonl:FILE`, `jsonl:-` | one GeoJSON Feature a line |
/// | `mqtt[s]://[user[:password]@]host[:port]/TOPIC` | the positions on a topic of a broker |
/// | `geoclue:` | the positions of GeoClue, by Wi-Fi and cells |
/// | `simulate:` | a drive along a bundled route |
///
/// Options follow after `#`, separated by commas:
///
/// - `accuracy=` states the accuracy class of the source's positions, from `MINIMUM` to `MAXIMUM` (default `HIGH`; `LOW` for `geoclue:`).
/// - `speed=` sets the speed of a serial line in bits a second (default 9600).
/// - `cycle=keep` leaves a receiver as it is: the agent never changes the time between its fixes, and never puts it to sleep.
/// - `seed=` selects one of the simulated drives, by a number from 1.
public struct SourceSpecification: Hashable, Sendable {
    /// The input from which a source reads, such as gpsd, a file or a server.
    public enum Input: Hashable, Sendable {
        /// The receivers of gpsd on a host.
        case gpsd(host: String, port: UInt16)
        /// NMEA sentences from a TCP server.
        case nmeaServer(host: String, port: UInt16)
        /// NMEA from a file or a serial device.
        case nmeaPath(String)
        /// NMEA sentences on standard input.
        case nmeaStandardInput
        /// A GPX file.
        case gpx(String)
        /// A JSON Lines file.
        case jsonLines(String)
        /// JSON Lines on standard input.
        case jsonLinesStandardInput
        /// A topic of a broker. The broker is a URL without the topic, `mqtt[s]://[user[:password]@]host[:port]`.
        case topic(broker: String, topic: String)
        /// The positions of GeoClue over the D-Bus system bus.
        case geoClue
        /// A simulated drive along the bundled route.
        case simulation
    }

    /// The input from which the source reads, such as gpsd or a file.
    public var input: Input
    /// The class of accuracy that the source reaches.
    public var accuracy: Resolution.Accuracy
    /// The speed of a serial line, in bits a second.
    public var lineSpeed: Int
    /// `true` when the source may ask a receiver to change its cycle, and may put it to sleep.
    public var asksForCycle: Bool
    /// The seed of the bundled drive, which a simulation follows; `nil` if the specification gives none, and the seed
    /// of the program is used.
    public var seed: UInt64?

    /// Makes the specification of a source of fixes from its parts.
    ///
    /// - Parameters:
    ///   - input: The input of the source.
    ///   - accuracy: The class of accuracy that the source reaches.
    ///   - lineSpeed: The speed of a serial line, in bits a second; other inputs ignore it.
    ///   - asksForCycle: `true` when the source may ask a receiver to change its cycle.
    ///   - seed: The seed of the bundled drive; `nil` for the seed of the program. Other inputs ignore it.
    public init(
        _ input: Input, accuracy: Resolution.Accuracy = .high, lineSpeed: Int = 9600, asksForCycle: Bool = true,
        seed: UInt64? = nil
    ) {
        self.input = input
        self.accuracy = accuracy
        self.lineSpeed = lineSpeed
        self.asksForCycle = asksForCycle
        self.seed = seed
    }

    /// Parses the text of a specification.
    ///
    /// - Parameter text: A source in one of the forms that ``SourceSpecification`` lists, with its options.
    /// - Throws: `invalidConfiguration` with the invalid part and the valid forms.
    public static func parse(_ text: String) throws(TrackingError) -> SourceSpecification {
        let (address, options) = Self.split(text)
        let input = try Self.input(address)
        var specification = SourceSpecification(input, accuracy: input == .geoClue ? .low : .high)
        for option in options { try specification.set(option, in: Self.withoutLogin(text[...])) }
        return specification
    }

    /// Splits the text of a source into its address and the options after the last `#`. A `#` that is followed by text
    /// without `=` belongs to the address, for example to a file name.
    private static func split(_ text: String) -> (address: Substring, options: [Substring]) {
        guard let hash = text.lastIndex(of: "#") else { return (text[...], []) }
        let options = text[text.index(after: hash)...]
        guard options.isEmpty || options.contains("=") else { return (text[...], []) }
        return (text[..<hash], options.split(separator: ","))
    }

    private static func input(_ address: Substring) throws(TrackingError) -> Input {
        guard let colon = address.firstIndex(of: ":") else { throw Self.unknown(address) }
        let rest = address[address.index(after: colon)...]
        switch (address[..<colon], rest) {
        case ("gpsd", _) where rest.hasPrefix("//"):
            let (host, port) = try Self.endpoint(rest.dropFirst(2), of: address, defaultPort: GPSDSource.defaultPort)
            return .gpsd(host: host, port: port)
        case ("nmea", "-"): return .nmeaStandardInput
        case ("nmea", _) where rest.hasPrefix("tcp://"):
            let (host, port) = try Self.endpoint(rest.dropFirst(6), of: address, defaultPort: nil)
            return .nmeaServer(host: host, port: port)
        case ("nmea", _): return .nmeaPath(try Self.path(rest, of: address))
        case ("gpx", _): return .gpx(try Self.path(rest, of: address))
        case ("jsonl", "-"): return .jsonLinesStandardInput
        case ("jsonl", _): return .jsonLines(try Self.path(rest, of: address))
        case ("mqtt", _) where rest.hasPrefix("//"), ("mqtts", _) where rest.hasPrefix("//"):
            return try Self.topic(address)
        case ("geoclue", ""): return .geoClue
        case ("simulate", ""): return .simulation
        default: throw Self.unknown(address)
        }
    }

    private static func path(_ path: Substring, of address: Substring) throws(TrackingError) -> String {
        guard !path.isEmpty, path != "-" else {
            throw TrackingError(
                .invalidConfiguration, "source '\(address)' names no file. Give the path after the colon")
        }
        return String(path)
    }

    /// The maximum length of the topic of a source, in bytes.
    private static let maximumTopicBytes = 1_024

    private static func topic(_ address: Substring) throws(TrackingError) -> Input {
        let start = address.firstRange(of: "://")?.upperBound ?? address.startIndex
        let slash = address[start...].firstIndex(of: "/")
        let topic = slash.map { address[address.index(after: $0)...] } ?? ""
        let isTopic = (1...Self.maximumTopicBytes).contains(topic.utf8.count) && String(topic).isPlainText
        // The rest of a password with a slash that is not encoded would count as the topic, and be logged.
        let hasLogin = slash.map { address[start..<$0].contains("@") } ?? false
        guard hasLogin || !topic.contains("@") else {
            throw TrackingError(
                .invalidConfiguration,
                "source '\(Self.withoutLogin(address))' has a / before the @. In a user or a password, write / as %2F and # as %23"
            )
        }
        // A text that ends with # has no options, so that the topic of a wildcard such as tracking/# would end with /.
        let isSingle = !topic.contains { "+#".contains($0) } && !topic.hasSuffix("/")
        guard isTopic, isSingle, let slash, slash > start else {
            throw TrackingError(
                .invalidConfiguration,
                "source '\(Self.withoutLogin(address))' must have the form mqtt[s]://[user[:password]@]host[:port]/TOPIC, with a topic of 1 to \(Self.maximumTopicBytes) bytes without the wildcards + and #, and without / at its end"
            )
        }
        return .topic(broker: String(address[..<slash]), topic: String(topic))
    }

    /// Returns the text of a source without the user and the password in a URL. Everything before the last `@` is left
    /// out, because a password may contain a `/` that is not encoded.
    private static func withoutLogin(_ text: Substring) -> String {
        guard let start = text.firstRange(of: "://")?.upperBound, let at = text[start...].lastIndex(of: "@") else {
            return String(text)
        }
        return String(text[..<start] + text[text.index(after: at)...])
    }

    private static func endpoint(
        _ text: Substring, of address: Substring, defaultPort: UInt16?
    ) throws(TrackingError) -> (String, UInt16) {
        let host: Substring
        let rest: Substring
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[text.index(after: end)...]
        } else {
            host = text.prefix { $0 != ":" }
            rest = text[host.endIndex...]
        }
        let port = rest.isEmpty ? defaultPort : rest.hasPrefix(":") ? UInt16(rest.dropFirst()) : nil
        guard !host.isEmpty, !host.contains("/"), !host.contains("@"), let port, port > 0 else {
            let example = defaultPort == nil ? "nmea:tcp://host:port" : "gpsd://host or gpsd://host:port"
            throw TrackingError(.invalidConfiguration, "source '\(address)' must have the form \(example)")
        }
        return (String(host), port)
    }

    private static func unknown(_ address: Substring) -> TrackingError {
        TrackingError(
            .invalidConfiguration,
            """
            source '\(Self.withoutLogin(address))' is unknown; it must be one of gpsd://host[:port], nmea:FILE, nmea:-, \
            nmea:tcp://host:port, nmea:/dev/ttyX, gpx:FILE, jsonl:FILE, jsonl:-, mqtt[s]://host[:port]/TOPIC, \
            geoclue:, simulate:
            """)
    }

    private mutating func set(_ option: Substring, in text: String) throws(TrackingError) {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.dropFirst().first ?? "") {
        case ("accuracy", let value):
            guard let accuracy = Resolution.Accuracy(rawValue: value.uppercased()) else {
                throw TrackingError(
                    .invalidConfiguration,
                    "source '\(text)': accuracy must be MINIMUM, LOW, BALANCED, HIGH or MAXIMUM, not '\(value)'")
            }
            self.accuracy = accuracy
        case ("speed", let value):
            guard case .nmeaPath = self.input, let speed = Int(value), SerialLine.speeds.contains(speed) else {
                let speeds = SerialLine.speeds.sorted().map(String.init).joined(separator: ", ")
                throw TrackingError(
                    .invalidConfiguration,
                    "source '\(text)': speed requires nmea:/dev/ttyX, and must be one of \(speeds)")
            }
            self.lineSpeed = speed
        case ("cycle", "keep"): self.asksForCycle = false
        case ("seed", let value):
            guard case .simulation = self.input, let seed = UInt64(value), seed > 0 else {
                throw TrackingError(
                    .invalidConfiguration, "source '\(text)': seed requires simulate:, and must be a number from 1 on")
            }
            self.seed = seed
        default:
            throw TrackingError(
                .invalidConfiguration,
                "source '\(text)': the option '\(parts[0])' must be accuracy=…, speed=…, cycle=keep or seed=…")
        }
    }
}
