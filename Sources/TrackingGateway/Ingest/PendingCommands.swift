import TrackingCore
import TrackingPublisher

/// The commands that wait for the next HTTP requests of phones. Their number is limited. ``PhoneCommandDesk`` performs
/// the input and output.
struct PendingCommands: Sendable {
    /// The largest number of commands that wait for the phone of one trackable: 16.
    static let maximum = 16
    /// The largest number of commands that wait for all phones together: 1,000.
    static let maximumInAll = 1000

    /// The result of handing over the waiting commands of a phone: the contents for the HTTP answer to the phone's app,
    /// and the answers to the senders of the commands.
    struct Delivery: Equatable, Sendable {
        /// The commands as messages in the HTTP answer to OwnTracks, in their order.
        var messages: [JSONValue] = []
        /// The commands as settings in the HTTP answer to Overland. A later command overrides an earlier one.
        var settings: [String: JSONValue] = [:]
        /// The answers to the commands, to be published to their senders.
        var answers: [Answer] = []
    }

    /// An answer to publish to the sender of a command, together with that command.
    struct Answer: Equatable, Sendable {
        let answer: CommandAnswer
        let command: ReceivedCommand
    }

    private struct Entry: Sendable {
        let received: ReceivedCommand
        let command: PhoneCommand
    }

    private var waiting: [TrackableID: [Entry]] = [:]
    private var count: Int { self.waiting.values.reduce(0) { $0 + $1.count } }

    /// Adds a command that waits for a phone. Expired commands are removed first.
    ///
    /// - Returns: The answer to a command that is rejected; `nil` for one that waits.
    mutating func add(_ received: ReceivedCommand, now: UnixTime) -> Answer? {
        self.removeExpired(now)
        do throws(CommandFailure) {
            let command = try PhoneCommand(received.command, for: received.trackable)
            guard self.waiting[received.trackable, default: []].count < Self.maximum, self.count < Self.maximumInAll
            else {
                throw CommandFailure(
                    .busy,
                    "cannot accept the command: too many commands wait for the next requests of phones. Try again later"
                )
            }
            // The arguments are not needed any more, because the command is translated.
            var kept = received
            kept.command.arguments = [:]
            self.waiting[received.trackable, default: []].append(Entry(received: kept, command: command))
            return nil
        } catch {
            return Answer(
                answer: CommandAnswer(id: received.command.id, outcome: .failure(error)), command: received)
        }
    }

    /// Removes and returns the waiting commands of a trackable, when its phone sends a request.
    ///
    /// A command that the phone's app does not support fails. If the request comes from a program other than OwnTracks
    /// or Overland, the commands remain waiting.
    mutating func take(for id: TrackableID, by client: PhoneClient, now: UnixTime) -> Delivery {
        self.removeExpired(now)
        var delivery = Delivery()
        guard [PhoneClient.ownTracks, .overland].contains(client), let entries = self.waiting.removeValue(forKey: id)
        else { return delivery }
        for entry in entries {
            let outcome = delivery.add(entry.command, for: client)
            delivery.answers.append(
                Answer(
                    answer: CommandAnswer(id: entry.received.command.id, outcome: outcome), command: entry.received))
        }
        return delivery
    }

    private mutating func removeExpired(_ now: UnixTime) {
        for id in Array(self.waiting.keys) {
            self.waiting[id]?.removeAll { $0.received.command.deadline < now }
            if self.waiting[id]?.isEmpty == true { self.waiting[id] = nil }
        }
    }
}

extension PendingCommands.Delivery {
    /// Adds a translated command to the contents of the HTTP answer to a phone: as a message for OwnTracks, or as
    /// settings for Overland.
    ///
    /// - Returns: The outcome for the sender of the command: success with the member `delivered`, which names the app,
    ///   or the reason why the app does not support the command.
    fileprivate mutating func add(
        _ command: PhoneCommand, for client: PhoneClient
    ) -> Result<[String: JSONValue], CommandFailure> {
        do throws(CommandFailure) {
            if client == .ownTracks {
                self.messages.append(try command.ownTracks.get())
                return .success(["delivered": .text("OwnTracks")])
            }
            let set = try command.overland.get()
            let main = (self.settings["main"]?.object ?? [:]).merging(set["main"]?.object ?? [:]) { $1 }
            self.settings.merge(set) { $1 }
            if !main.isEmpty { self.settings["main"] = .object(main) }
            return .success(["delivered": .text("Overland")])
        } catch {
            return .failure(error)
        }
    }
}
