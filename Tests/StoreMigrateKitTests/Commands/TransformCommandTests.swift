// Steps that call Swift functions of the app: the app's own tool runs them, and a tool without the functions
// refuses them.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite struct TransformCommands {
  let folder: TemporaryFolder
  let store: String

  init() async throws {
    folder = try TemporaryFolder()
    store = folder.path("s.store")
    let steps = folder.path("Steps")
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    for step in set.steps {
      try Data(step.text.utf8).write(to: URL(fileURLWithPath: "\(steps)/\(step.fileName)"))
    }
    let text =
      "format: 1\nbackup: never\n[up]\nadd attribute User.loud string default \"\"\n"
      + "transform swift shout on User writes User.loud batch 2\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(steps)/0007_loud.migration"))
    try await Store.create(at: URL(fileURLWithPath: store), key: .raw(Template.key), migrations: set)
    let open = try await Store.open(at: URL(fileURLWithPath: store), key: .raw(Template.key))
    defer { open.close() }
    try await open.write { context in
      for name in ["ann", "bob", "cy"] {
        _ = try context.insert(entity: "User") { object in
          for attribute in object.entityDescription?.attributes ?? []
          where !attribute.isOptional && attribute.type == .string {
            try object.set(attribute.name, to: name)
          }
          try object.set("name", to: name)
        }
      }
    }
  }

  private func run(_ words: String..., tool: String = "microblog-migrate") throws -> ToolResult {
    try runTool(
      builtExecutable(tool),
      words + [store, "-m", folder.path("Steps"), "--no-input", "--key-env", "KEY", "--key-format", "hex"],
      environment: ["KEY": Template.hex(Template.key)])
  }

  @Test func `plan of a tool without the function shows the step, and up refuses it`() throws {
    let before = try folder.bytes("s.store")
    let plan = try run("plan", tool: "store-migrate")
    #expect(plan.status == 5, "\(plan)")
    #expect(plan.output.contains("~ transform swift \"shout\" on 3 User"))
    #expect(plan.output.contains("REFUSED this program does not have the function \"shout\""))
    let up = try run("up", tool: "store-migrate")
    #expect(up.status == 5 && up.errors.contains("calls the Swift function \"shout\""), "\(up)")
    #expect(try folder.bytes("s.store") == before)
  }

  @Test func `with changed tables plan and up are still refused for the missing function first`() throws {
    let connection = try Connection.open(store, key: .raw(Template.key))
    try connection.execute("ALTER TABLE User ADD COLUMN shoes TEXT")
    connection.close()
    for (tool, code) in [("store-migrate", 5), ("microblog-migrate", 1)] as [(String, Int32)] {
      for command in ["plan", "up"] {
        let result = try run(command, tool: tool)
        #expect(result.status == code, "\(tool) \(command): \(result)")
      }
    }
  }

  @Test func `the app's own tool runs a step with a Swift function, and redoes it`() throws {
    let plan = try run("plan")
    #expect(plan.status == 0 && plan.output.contains("~ transform swift \"shout\" on 3 User"), "\(plan)")
    #expect(!plan.output.contains("REFUSED"))
    for words in [["up"], ["redo", "--allow", "lossy:User.loud"]] {
      let result = try runTool(
        builtExecutable("microblog-migrate"),
        words + [store, "-m", folder.path("Steps"), "--no-input", "--key-env", "KEY", "--key-format", "hex"],
        environment: ["KEY": Template.hex(Template.key)])
      #expect(result.status == 0, "\(result)")
      let connection = try Connection.open(store, key: .raw(Template.key))
      #expect(try connection.rows("SELECT loud FROM User ORDER BY id") == [["ANN"], ["BOB"], ["CY"]])
      connection.close()
    }
  }

  @Test func `plan --json has the name of the function, its rows and whether it is missing`() throws {
    let members = try run("plan", "--json").output.replacing(" ", with: "")
    for part in ["\"name\":\"shout\"", "\"rows\":3", "\"isMissing\":false"] {
      #expect(members.contains(part), "\(members)")
    }
  }
}
