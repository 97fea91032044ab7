private import Glibc
public import TrackingCore

extension SourceSpecification {
    /// Makes the source, which opens nothing until it runs.
    ///
    /// - Parameter pace: how fast recorded files are replayed, and how much faster than a car the simulated one drives.
    /// - Throws: `invalidConfiguration` when the pace does not fit the source.
    public func makeSource(pace: ReplayPace = .recorded) throws(TrackingError) -> any LocationSource {
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
        case .simulation:
            guard case .times(let factor) = pace else {
                throw TrackingError(
                    .invalidConfiguration, "simulate: goes on for ever and has no speed max; give it a number")
            }
            return SimulatedSource(SimulatedSource.Configuration(speedFactor: factor, accuracy: self.accuracy))
        }
    }

    /// Whether it is a receiver that is not asked for a cycle: it tells what it tells, however seldom that is wanted.
    public var cannotBeSlowed: Bool {
        if case .nmeaServer = self.input { return true }
        return self.isReceiver && !self.asksForCycle
    }

    /// Whether it tells where the device is now, and not where something was.
    public var isReceiver: Bool {
        switch self.input {
        case .gpsd, .nmeaServer: true
        case .nmeaPath(let path): Self.isDevice(path)
        case .nmeaStandardInput, .gpx, .jsonLines, .jsonLinesStandardInput, .simulation: false
        }
    }

    /// Whether it reads what is piped into the program.
    public var readsStandardInput: Bool {
        switch self.input {
        case .nmeaStandardInput, .jsonLinesStandardInput: true
        case .gpsd, .nmeaServer, .nmeaPath, .gpx, .jsonLines, .simulation: false
        }
    }

    /// Whether this is a serial device; one that is not plugged in yet is told by where it would be.
    private static func isDevice(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return path.hasPrefix("/dev/") }
        return status.st_mode & S_IFMT == S_IFCHR
    }
}
