import TrackingCore
import TrackingRuntime

/// The questions to the provider of the client's credentials.
extension MQTTConnection {
    /// Asks the provider for the credentials, on Swift's default executor, because a provider may take long.
    func askForCredentials() {
        self.abandonQuestion()
        guard let provider = self.configuration.credentialsProvider else { return }
        let question = self.credentials.questions
        // Detached: the connection's own executor must not wait for the provider. The answer returns by the event loop.
        self.credentials.asking = Task.detached {
            let answer = await Self.answer(of: provider)
            self.loop.call {
                self.assumeIsolated { $0.answered(answer, question: question) }
            }
        }
    }

    /// Cancels the question to the provider, if one is unanswered. A later answer is ignored.
    func abandonQuestion() {
        self.credentials.questions += 1
        self.credentials.asking?.cancel()
        self.credentials.asking = nil
    }

    private func answered(_ answer: Result<MQTTCredentials, TrackingError>, question: Int) {
        guard question == self.credentials.questions else { return }
        self.credentials.asking = nil
        self.now = DeviceClock.now
        switch answer {
        case .success(let credentials):
            self.credentials.next = credentials
            let lifetime = credentials.passwordExpiry.map { $0.seconds - DeviceClock.wall.seconds }
            self.perform(
                self.machine.credentialsReceived(
                    areNew: !credentials.areSame(as: self.credentials.used),
                    expiry: lifetime.map { self.now.advanced(by: Duration(clampingSeconds: $0)) }, now: self.now))
        case .failure(let error):
            self.logUnavailableCredentials(error)
            self.perform(self.machine.credentialsUnavailable(error, now: self.now))
        }
        self.loop.wake(self.key)
    }

    @concurrent
    private static func answer(
        of provider: MQTTCredentialsProvider
    ) async -> Result<MQTTCredentials, TrackingError> {
        do {
            let credentials = try await provider()
            try credentials.validate()
            return .success(credentials)
        } catch let error as TrackingError {
            return .failure(error)
        } catch {
            return .failure(
                TrackingError(
                    .inputUnreadable, "cannot get the credentials for the broker: \(error). Check their provider"))
        }
    }
}
