import FoundationEssentials
private import SystemLibrary
public import TrackingCore
public import TrackingMQTT

/// The user and the password with which a program signs in to the broker.
extension BrokerOptions {
    static var passwordWithoutUser: TrackingError {
        TrackingError(
            .invalidConfiguration,
            "a password is given without a user. Name the user in the broker's address: mqtts://user@host")
    }

    static var secondPassword: TrackingError {
        TrackingError(
            .invalidConfiguration,
            "--password-command and another password are given. Remove --password-command, or the password in --broker, --password-file or GODWIT_PASSWORD"
        )
    }

    /// Returns the user and the password with which the program signs in to the broker; `nil` without a user. The user
    /// comes from the broker's address. The password comes from the address, else from the password file, else from the
    /// option `password` (`GODWIT_PASSWORD`). It is `nil` with `--password-command`, which is not run here.
    ///
    /// - Throws: `invalidConfiguration` if a password is given without a user or beside `--password-command`, if an
    ///   address is malformed, or if the addresses name different users or passwords; `inputUnreadable` if the password
    ///   file cannot be read.
    public func login() throws(TrackingError) -> MQTTCredentials? {
        guard var login = try self.user else {
            guard try self.filedPassword() == nil else { throw Self.passwordWithoutUser }
            return nil
        }
        guard login.password == nil else { return login }
        let filed = try self.filedPassword()
        guard self.passwordCommand == nil || filed == nil else { throw Self.secondPassword }
        login.password = filed ?? self.password
        return login
    }

    /// `true` if a password is given, or a command that prints one.
    ///
    /// - Throws: The errors of ``login()``.
    public var hasPassword: Bool {
        get throws(TrackingError) { try self.login()?.password != nil || self.passwordCommand != nil }
    }

    /// `true` if the password can change while the program runs: a command prints it, or it is read from a file anew
    /// before each attempt to connect.
    public var hasChangingCredentials: Bool {
        guard (try? self.user) != nil else { return false }
        return self.credentialsProvider(of: "") != nil
    }

    /// Returns the function that returns the credentials of a user for each attempt to connect; `nil` if the password
    /// cannot change while the program runs.
    ///
    /// The password in the broker's address and that in the environment never change. A password file that is no
    /// regular file, such as a pipe, can be read only once, so its password does not change either.
    func credentialsProvider(of user: String) -> MQTTCredentialsProvider? {
        if let command = self.passwordCommand {
            return { MQTTCredentials(user: user, password: try await command.password(of: user)) }
        }
        guard let login = try? self.user, login.password == nil else { return nil }
        let isRead = self.passwordFile.map(SecretFile.isRegular) ?? false
        let setting = self.password.flatMap { PasswordSetting($0, in: self.configurationFile) }
        guard isRead || setting != nil else { return nil }
        return {
            var options = self
            if let setting { options.password = try setting.read() }
            return MQTTCredentials(user: user, password: try options.login()?.password)
        }
    }

    /// Returns the password in the file of `--password-file`; `nil` without the option and for an empty file. systemd
    /// provides an empty file when no credential is set.
    private func filedPassword() throws(TrackingError) -> String? {
        guard let path = self.passwordFile else { return nil }
        let password = try SecretFile.read(path, "password file")
        return password.isEmpty ? nil : password
    }
}

/// The key `password` of a configuration file from which the program's password comes. The key is at the top of the file
/// or in the section of a command.
struct PasswordSetting: Sendable {
    private static let key = "password"

    private let path: String
    /// The name of the section that contains the key; `nil` for the top of the file.
    private let section: String?

    /// Finds the place of a password in a configuration file. Returns `nil` if the file does not contain it, so that it
    /// comes from the command line, or if the password comes from the environment.
    init?(
        _ password: String, in path: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        guard let path, SecretFile.isRegular(path), LayeredArguments.value(of: Self.key, in: environment) == nil,
            let file = try? ConfigurationFile(path: path)
        else { return nil }
        let sections = [nil] + file.entries.map { Optional($0.key) }
        guard let section = sections.first(where: { Self.password(in: file, $0) == password }) else { return nil }
        self.path = path
        self.section = section
    }

    /// Reads the password from the file again; `nil` if the file does not have the key any more.
    ///
    /// - Throws: `inputUnreadable` if the file cannot be read or is no valid configuration file.
    func read() throws(TrackingError) -> String? {
        do {
            return Self.password(in: try ConfigurationFile(path: self.path), self.section)
        } catch {
            throw TrackingError(
                .inputUnreadable,
                "cannot read the password from the configuration file '\(self.path)'. Check the file and its permissions"
            )
        }
    }

    private static func password(in file: ConfigurationFile, _ section: String?) -> String? {
        guard let section else { return file[Self.key]?.value.text }
        guard case .mapping(let members)? = file[section]?.value else { return nil }
        return members.first { $0.key == Self.key }?.value.text
    }
}

/// Reads files whose first line is a secret, such as a password.
public enum SecretFile {
    /// Returns the first line of a file that contains a secret.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - what: A name for the file in the error message, such as "password file".
    /// - Throws: `inputUnreadable` that names the file, if it cannot be read.
    public static func read(_ path: String, _ what: String) throws(TrackingError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw TrackingError(
                .inputUnreadable, "cannot read the \(what) '\(path)'. Check the path and its permissions")
        }
        let line = data.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return String(decoding: line, as: UTF8.self)
    }

    /// Returns `true` for a regular file, or a symbolic link to one. It can be read more than once.
    static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
