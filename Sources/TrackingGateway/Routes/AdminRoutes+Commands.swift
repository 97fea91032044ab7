import Hummingbird
import HummingbirdCore
import TrackingCore
import TrackingRules
import TrackingRuntime

/// The route that sends a command to the device of a trackable.
extension AdminRoutes {
    /// The permitted times, in seconds, for which a request waits for the answer of a device. They are shorter than the
    /// time after which a client's connection counts as dead.
    private static let waits = 1.0...25.0

    /// Sends a command to the publisher of a trackable, as `godwit send` does, and returns the publisher's answer.
    func postCommand(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        guard let desk = self.commands else {
            throw Problem(
                .forbidden,
                "This gateway sends no commands: its operator must start godwit serve with --allow-commands.")
        }
        let id = try context.readableTrackable()
        let json = try await self.json(
            request, context, upTo: Command.maximumBytes, members: ["command", "arguments", "timeout"])
        let (command, wait) = try self.command(json)
        try await self.checkIsKnown(id)
        try await self.audit.add(.sendCommand, "\(command.name.rawValue) to \(id.rawValue)", by: administrator.actor)
        guard let answer = try await desk.send(command, to: id, within: wait) else {
            throw Problem(
                .gatewayTimeout,
                "The device of the trackable did not answer within \(Int(wait.inSeconds)) s. It may be offline, or its agent may run without --allow-commands."
            )
        }
        return .json(.object(answer.members))
    }

    /// Reads a command, and the time to wait for its answer, from the body of a request:
    /// `{"command":"report","arguments":{…},"timeout":10}`. The timeout is in seconds; by default 10.
    ///
    /// - Throws: `Problem` (400) that describes the required form.
    private func command(_ json: JSONValue) throws(Problem) -> (Command, Duration) {
        guard let name = json["command"]?.text, json["arguments"].map({ $0.object != nil }) ?? true,
            json["timeout"].map({ $0.number.map { Self.waits.contains($0) } == true }) ?? true
        else {
            throw Problem(
                .badRequest,
                "The body must be a JSON object with the string 'command', such as {\"command\":\"report\"}. It may have the object 'arguments' and the number 'timeout' (1 to 25 s)."
            )
        }
        let wait = Duration.seconds(json["timeout"]?.number ?? 10)
        let now = self.clock.moment.wall
        var generator = SystemRandomNumberGenerator()
        // After that time no request waits for the answer, so the device must not perform the command.
        let command = Command(
            id: UUIDText.random(using: &generator), name: Command.Name(typed: name), time: now,
            expires: now.advanced(by: wait), arguments: json["arguments"]?.object ?? [:])
        try explained { () throws(TrackingError) in _ = try CommandCodec.encode(command) }
        return (command, wait)
    }
}
