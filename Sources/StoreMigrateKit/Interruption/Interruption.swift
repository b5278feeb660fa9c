// The reaction to signals. Before a run changes files, a signal ends the process. Once it changes files, the
// first signal requests a stop: the run undoes or completes its change, however long that takes. A second
// signal ends the process. In each case the tool prints the state of the files. If files were being changed,
// a `FileStateReport` determines it.

import CipherSQLite
import Foundation

/// The signals of one run, and the stage of the run.
final class Interruption: Sendable {
  private enum Stage {
    /// Nothing has been changed yet: a signal ends the process.
    case looking
    /// Files are being changed: a signal stops the run.
    case changing(any FileStateReport)
    /// The final message was printed, or is being printed.
    case ended
  }

  private struct State {
    var stage = Stage.looking
    var signal: Int32?
    // A source works only as long as it is retained.
    var sources: [any DispatchSourceSignal] = []
  }

  /// The signals that stop a run.
  static let signals = [SIGINT, SIGTERM, SIGHUP]

  /// The progress of the run, which the first signal cancels.
  let progress = Progress(totalUnitCount: 0)
  /// Closed by the first signal. From then on, no uncommitted change of a key will be committed.
  let gate = CommitGate()
  private let state = Locked(State())

  /// The first signal that was received; nil when there was none.
  var signal: Int32? { state.withLock { $0.signal } }

  /// Handles the signals from now on, except those that the process was started to ignore (`nohup`).
  func listen() {
    // Another thread registers the sources. A signal before that would be lost, so this waits for the
    // registration.
    let registration = DispatchGroup()
    for number in Self.signals {
      var former = sigaction()
      guard unsafe sigaction(number, nil, &former) == 0, !isIgnored(former) else { continue }
      // Not SIG_IGN, which the commands that this process starts would inherit.
      Foundation.signal(number) { _ in }
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [self] in received(number) }
      registration.enter()
      source.setRegistrationHandler { registration.leave() }
      source.resume()
      state.withLock { $0.sources.append(source) }
    }
    registration.wait()
  }

  private func isIgnored(_ action: sigaction) -> Bool {
    #if canImport(Darwin)
      let handler = unsafe action.__sigaction_u.__sa_handler
    #else
      let handler = unsafe action.__sigaction_handler.sa_handler
    #endif
    // Both are addresses of functions, or small numbers in their place; neither is called.
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Marks that files are being changed from now on. `aftermath` reports their state afterwards.
  func begin(_ aftermath: any FileStateReport) {
    let isEnded = state.withLock { state in
      if case .ended = state.stage { return true }
      state.stage = .changing(aftermath)
      return false
    }
    if isEnded { waitForTheEnd() }
  }

  /// Marks that nothing is being changed for now, for example during a question. A signal then ends the
  /// process.
  func pause() {
    state.withLock { state in
      if case .changing = state.stage, state.signal == nil { state.stage = .looking }
    }
  }

  /// Throws once a signal was received.
  /// - Throws: `CancellationError`.
  func check() throws {
    if progress.isCancelled { throw CancellationError() }
  }

  /// What reports the state of the files, while they are being changed; nil before that, and after the
  /// end of the run. Reading this property does not change the stage, so signals are still handled while
  /// the report is made.
  var aftermath: (any FileStateReport)? {
    state.withLock { state in
      if case .changing(let aftermath) = state.stage { aftermath } else { nil }
    }
  }

  /// Marks the end of the run. What is printed from now on is the final message.
  func end() {
    let isSaid = state.withLock { state in
      if case .ended = state.stage { return true }
      state.stage = .ended
      return false
    }
    if isSaid { waitForTheEnd() }
  }

  /// Blocks while the signal handler prints the final message and ends the process.
  private func waitForTheEnd() -> Never {
    while true { sleep(60) }
  }

  private func received(_ number: Int32) {
    enum Answer {
      case ends((any FileStateReport)?)
      case stops
      case isOver
    }
    let answer = state.withLock { state -> Answer in
      defer { state.signal = state.signal ?? number }
      switch state.stage {
      case .ended: return .isOver
      case .looking:
        state.stage = .ended
        return .ends(nil)
      case .changing where state.signal == nil: return .stops
      case .changing(let aftermath):
        state.stage = .ended
        return .ends(aftermath)
      }
    }
    if case .stops = answer {
      progress.cancel()
      gate.stop()
      say("Stopping as soon as possible. A second signal ends the command at once.")
      return
    }
    // The final message is being printed, but it may be that no process reads it; so this waits two
    // seconds at most.
    if case .isOver = answer { sleep(2) }
    // After the next two lines, no change of a key begins to commit, and no temporary file is renamed to
    // its final name.
    let phase = gate.stop()
    Temporaries.removeAll()
    InspectionIndexes.removeAll()
    EchoGuard.restore()
    if case .ends(let aftermath) = answer {
      let truth = aftermath?.stateAfterExit(phase) ?? "Nothing was changed."
      say("\(Self.said(number)) \(truth)")
    }
    _exit(ExitCode(signal: number).rawValue)
  }

  private func say(_ text: String) {
    // On a terminal, the cursor may be after a progress bar or after ^C.
    StandardStream.error.write((isatty(2) == 1 ? "\n" : "") + "store-migrate: \(text)\n")
  }

  /// Returns the first sentence of the final message, such as `Interrupted (SIGTERM).`
  static func said(_ number: Int32) -> String {
    switch number {
    case SIGTERM: "Interrupted (SIGTERM)."
    case SIGHUP: "Interrupted (SIGHUP)."
    default: "Interrupted."
    }
  }
}
