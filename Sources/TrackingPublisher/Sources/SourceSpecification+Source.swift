private import SystemLibrary
public import TrackingCore

extension SourceSpecification {
    /// Makes the source that the specification describes. The source opens nothing until it runs.
    ///
    /// - Parameters:
    ///   - pace: The replay speed of recorded files, or the speed of the simulated vehicle as a multiple of a car's.
    ///   - seed: The seed of the bundled drive, ≥ 1, if the specification gives none. Drives with different seeds begin
    ///     at different places of the route and stop at different lights.
    /// - Throws: `invalidConfiguration` for a simulation at the pace `max`, because a simulated drive has no end; and
    ///   for a topic, whose source is a ``TopicSource``.
    public func makeSource(
        pace: ReplayPace = .recorded, seed: UInt64 = 1
    ) throws(TrackingError) -> any LocationSource {
        switch self.input {
        case .gpsd(let host, let port):
            return GPSDSource(host: host, port: port, asksForCycle: self.asksForCycle, accuracy: self.accuracy)
        case .nmeaServer(let host, let port):
            return NMEASource(.tcp(host: host, port: port), accuracy: self.accuracy)
        case .nmeaPath(let path) where Self.isDevice(path):
            return NMEASource(
                .serial(path: path, speed: self.lineSpeed), asksForCycle: self.asksForCycle, accuracy: self.accuracy)
        case .nmeaPath(let path): return RecordingSource(.nmea, file: path, pace: pace, accuracy: self.accuracy)
        case .nmeaStandardInput: return NMEASource(.standardInput, accuracy: self.accuracy)
        case .gpx(let path): return RecordingSource(.gpx, file: path, pace: pace, accuracy: self.accuracy)
        case .jsonLines(let path): return RecordingSource(.jsonl, file: path, pace: pace, accuracy: self.accuracy)
        case .jsonLinesStandardInput: return RecordingSource.standardInput(accuracy: self.accuracy)
        case .geoClue: return GeoClueSource(accuracy: self.accuracy)
        case .topic:
            throw TrackingError(
                .invalidConfiguration,
                "cannot make the source of a topic without a connection to its broker. Make a TopicSource with an MQTTTransport"
            )
        case .simulation:
            guard case .times(let factor) = pace else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the source simulate: cannot run at the speed 'max', because the simulated drive has no end. Give a number as the speed."
                )
            }
            return SimulatedSource(
                SimulatedSource.Configuration(
                    speedFactor: factor, seed: self.seed ?? seed, accuracy: self.accuracy))
        }
    }

    /// `true` for a receiver that its source never asks for another cycle, the time between two fixes. Such a receiver
    /// delivers at its own rate, whatever the resolution.
    public var cannotBeSlowed: Bool {
        if case .nmeaServer = self.input { return true }
        return self.isReceiver && !self.asksForCycle
    }

    /// `true` for gpsd, an NMEA server, a serial device and GeoClue: the source is known to measure the current position
    /// of the device. `false` for standard input.
    public var isReceiver: Bool {
        switch self.input {
        case .gpsd, .nmeaServer, .geoClue: true
        case .nmeaPath(let path): Self.isDevice(path)
        case .nmeaStandardInput, .gpx, .jsonLines, .jsonLinesStandardInput, .topic, .simulation: false
        }
    }

    /// `true` when the source reads standard input.
    public var readsStandardInput: Bool {
        switch self.input {
        case .nmeaStandardInput, .jsonLinesStandardInput: true
        case .gpsd, .nmeaServer, .nmeaPath, .gpx, .jsonLines, .topic, .geoClue, .simulation: false
        }
    }

    /// Returns `true` for the path of a character device. A path that does not exist counts as a device when it is
    /// under `/dev/`, because the device may be plugged in later.
    private static func isDevice(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return path.hasPrefix("/dev/") }
        return status.st_mode & S_IFMT == S_IFCHR
    }
}
