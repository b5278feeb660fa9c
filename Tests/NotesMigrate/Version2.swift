// The classes of the tutorial at its second version.

import Foundation
import ObjectVault

enum Version2 {
  final class Note: ManagedObject {
    @Attribute var title: String
    @Attribute var text: String = ""
    @Attribute var isPinned: Bool = false
    @Attribute(.indexed) var createdAt: Date = .now
  }

  static let schema = Schema {
    Entity(Note.self)
  }
}
