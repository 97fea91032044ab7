import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway

/// The check that the journey of a trackable has a stop, before a share link for this stop is made.
struct StopCheck {
    private let stop: String
    private let id: TrackableID

    /// Creates the check of a stop, given by its id, in the journey of a trackable.
    init(stop: String, of id: TrackableID) { (self.stop, self.id) = (stop, id) }

    /// The result of looking for the stop in a journey.
    enum Finding: Hashable {
        case known
        /// The trackable has no journey in which the stop could be looked up. A later journey may have the stop. The
        /// value is a note for the user.
        case unverifiable(String)
        /// The journey has no such stop. The value is the error for the user, with the stops of the journey.
        case unknown(String)
    }

    /// Looks for the stop in the journey that the broker retains; `nil` for a trackable without a journey.
    func find(in journey: Journey?) -> Finding {
        guard let journey else {
            return .unverifiable(
                "cannot check that the journey of \(self.id.rawValue.printable) has the stop '\(self.stop.printable)': the broker has no journey of it, or this user may not read it. The link shows an arrival once a journey has this stop"
            )
        }
        guard journey.stop(self.stop) == nil else { return .known }
        return .unknown(
            [
                "cannot share \(self.id.rawValue.printable) for the stop '\(self.stop.printable)': its journey has no such stop.",
                NearestNames(to: self.stop, among: journey.stops.map(\.id)).question,
                "Its stops are \(journey.stopIDs). Give one of these, or --yes to create the link all the same",
            ].compactMap(\.self).joined(separator: " "))
    }

    /// Reads the journey from the broker and checks the stop. For a trackable without a journey, it only writes a note
    /// to standard error.
    ///
    /// - Throws: Exit code 1 if the journey has no such stop. The broker's refusal, or the reason why the broker cannot
    ///   be reached, as a `TrackingError` that names the stop.
    func run(at broker: BrokerOptions) async throws {
        switch self.find(in: try await self.journey(at: broker)) {
        case .known: return
        case .unverifiable(let note): Program.note("\(note)\n")
        case .unknown(let error):
            Program.complain(error)
            throw ExitCode(1)
        }
    }

    private func journey(at broker: BrokerOptions) async throws -> Journey? {
        do {
            return try await JourneyCommand.topics(broker).read([self.id])[self.id]?.journey
        } catch let error as TrackingError {
            throw TrackingError(
                error.code,
                "cannot check that the journey of \(self.id.rawValue.printable) has the stop '\(self.stop.printable)': \(error.message). Name the broker, with a user that may read the journey, by --broker; or give --yes to create the link without this check",
                reasonCode: error.reasonCode)
        }
    }
}
