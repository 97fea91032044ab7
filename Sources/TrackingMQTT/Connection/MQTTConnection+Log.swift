import Logging
import TrackingCore

extension MQTTConnection {
    /// Logs that a connection was made: at the level `info` after an outage that was logged, otherwise at `debug`.
    func logConnected(_ connection: Int, sessionPresent: Bool) {
        guard let link = self.link else { return }
        let level: Logger.Level = self.lastLoggedCode == nil ? .debug : .info
        self.lastLoggedCode = nil
        self.configuration.logger?.log(
            level: level, "Client connected to the broker",
            metadata: [
                "client": "\(self.configuration.client)", "endpoint": "\(link.endpoint)",
                "version": "\(link.attempt.version.name)", "connection": "\(connection)",
                "session": sessionPresent ? "kept" : "new",
            ])
    }

    /// Logs a warning that the broker sent a malformed packet, with the violated rule of MQTT. The content of the
    /// packet is never logged.
    func logMalformed(_ result: MosquittoResult, _ link: Link) {
        self.configuration.logger?.warning(
            "Broker sent a malformed packet: the client closes the connection and connects again. If this occurs often, check the network and proxies, or use TLS",
            metadata: [
                "client": "\(self.configuration.client)", "endpoint": "\(link.endpoint)",
                "version": "\(link.attempt.version.name)", "reason": "\(result.violation ?? result.text)",
            ])
    }

    /// Logs that the provider of the credentials failed while there is a connection. A failure before an attempt to
    /// connect is logged as the reason of the failed attempt.
    func logUnavailableCredentials(_ error: TrackingError) {
        guard self.machine.isOnline else { return }
        self.configuration.logger?.warning(
            "New credentials are not available, and those of the connection expire: the connection continues while the broker permits it, and the client asks the provider of the credentials again",
            metadata: ["client": "\(self.configuration.client)", "reason": "\(error.message)"])
    }

    /// Logs a lost connection or a failed attempt to connect. A reason that differs from the last logged reason is a
    /// warning, or an error if a person must correct something. A repeated reason, and an orderly end, are logged only
    /// at the level `debug`.
    func logDisconnected(_ disconnection: Disconnection) {
        guard let logger = self.configuration.logger else { return }
        var metadata: Logger.Metadata = ["client": "\(self.configuration.client)"]
        if let retry = disconnection.retry { metadata["retry"] = "\(retry)" }
        if let lasted = disconnection.lasted { metadata["lasted"] = "\(lasted)" }
        if disconnection.isRenewal {
            return logger.info(
                "Client closed its connection to the broker in order, and connects again with new credentials",
                metadata: metadata)
        }
        guard let reason = disconnection.reason else {
            return logger.debug(
                "Client closed its connection to the broker in order, because its program had requested it",
                metadata: metadata)
        }
        metadata["reason"] = "\(reason.message)"
        metadata["code"] = "\(reason.code)"
        let isNew = self.lastLoggedCode != reason.code
        self.lastLoggedCode = reason.code
        let level: Logger.Level = reason.isForAnOperator ? .error : .warning
        let consequence =
            disconnection.retry == nil
            ? "the client does not connect again. Follow the reason, then start the program again"
            : "the client tries again"
        logger.log(
            level: isNew ? level : .debug, "Connection to the broker was lost or could not be made: \(consequence)",
            metadata: metadata)
    }
}

extension TrackingError {
    /// `true` for an error that does not disappear by waiting, so that a person must correct something.
    fileprivate var isForAnOperator: Bool {
        switch self.code {
        case .badCredentials, .notAuthorized, .refused, .takenOver, .certificateExpired, .certificateHostMismatch,
            .certificateUnknownAuthority, .tlsFailed:
            true
        default: false
        }
    }
}
