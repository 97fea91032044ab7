public import ArgumentParser
public import TrackingCore

/// The text form of a resolution as the value of a command-line option: `ACCURACY/INTERVAL/DISPLACEMENT`. The interval
/// is in milliseconds, the displacement in metres. For example, `HIGH/1000/1` is HIGH accuracy, every 1,000 ms, every
/// metre.
extension Resolution: ExpressibleByArgument {
    /// Parses a resolution such as `HIGH/1000/1`: accuracy, interval in milliseconds, displacement in metres. Returns
    /// `nil` for a text of another form and for a value out of range.
    public init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let accuracy = Accuracy(rawValue: parts[0].uppercased()),
            let milliseconds = Int64(parts[1]), let metres = Double(parts[2])
        else { return nil }
        guard
            let resolution = try? Resolution(
                accuracy: accuracy, desiredInterval: .milliseconds(milliseconds), minimumDisplacement: Meters(metres))
        else { return nil }
        self = resolution
    }

    /// The resolution as text for a command-line option, such as `HIGH/1000/1`: accuracy, interval in milliseconds,
    /// displacement in metres.
    public var argumentText: String {
        let metres = self.minimumDisplacement.value
        let text = metres == metres.rounded() && metres < 1e9 ? String(Int(metres)) : String(metres)
        return "\(self.accuracy.rawValue)/\(self.desiredInterval.inMilliseconds)/\(text)"
    }
}

/// The text form of a coordinate as the value of a command-line option: `LATITUDE,LONGITUDE` in degrees.
extension Coordinate: ExpressibleByArgument {
    /// Parses a coordinate, `LATITUDE,LONGITUDE` in degrees. Returns `nil` for a text of another form and for a
    /// coordinate out of range.
    public init?(argument: String) {
        let parts = argument.split(separator: ",").map { $0.filter { $0 != " " } }
        guard parts.count == 2, let latitude = Double(parts[0]), let longitude = Double(parts[1]) else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}

extension Set<ClientID> {
    /// Parses the values of the option `--acknowledge-by`: the client ids of recorders, the clients that store records.
    /// Each value is one client id, or several separated by commas.
    ///
    /// - Throws: `ValidationError` with the violated rule when a client id is malformed.
    public init(acknowledgeBy texts: [String]) throws {
        let names = texts.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        do throws(TrackingError) {
            self = Set(try names.map { (name) throws(TrackingError) in try ClientID(String(name)) })
        } catch {
            throw ValidationError("--acknowledge-by: \(error.message)")
        }
    }
}

extension FilterRule: ExpressibleByArgument {}

extension TravelProfile: ExpressibleByArgument {}
