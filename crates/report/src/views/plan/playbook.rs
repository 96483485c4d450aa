//! A plan as an Ansible playbook.

use super::nodes::NodesPlan;
use units::escape::escape;

/// Writes a playbook that plans on each node. `words` are the arguments of `trimtab plan`, without what it does.
pub fn playbook(nodes: &NodesPlan, remarks: &[String], words: &[String]) -> String {
    // JSON's strings are YAML's; Jinja would read braces in them.
    let quoted = |text: &String| serde_json::Value::from(text.as_str()).to_string();
    let argv = |first: &[&str]| {
        let first = first.iter().map(|word| format!("\"{word}\""));
        let rest = words.iter().map(|word| format!("!unsafe {}", quoted(word)));
        let lines = first
            .chain(rest)
            .map(|word| format!("          - {word}\n"));
        lines.collect::<String>()
    };
    let mut names: Vec<String> = nodes.nodes.iter().map(|node| node.name.clone()).collect();
    names.dedup();
    let slots = nodes.nodes.iter();
    let slots = slots.map(|node| format!("#   {}  {}\n", escape(&node.name), node.slot));
    let remarks = remarks.iter();
    let remarks = remarks.map(|remark| format!("# {}\n", escape(remark)));
    let slots = slots.chain(remarks).collect::<String>();
    let hosts = quoted(&names.join(","));
    let node = "          - --node\n          - \"{{ inventory_hostname }}\"\n";
    format!(
        "---\n\
         # Written by `trimtab plan`. Slots ({}), one for each filesystem of a node:\n\
         {slots}\
         #   ansible-playbook FILE --check                     shows what would be changed\n\
         #   ansible-playbook FILE                             changes it; a second time nothing\n\
         #   ansible-playbook FILE -e trimtab_undo=true        puts everything back\n\
         - name: Paced trims of which no two ever overlap\n  \
           hosts: {hosts}\n  \
           become: true\n  \
           gather_facts: false\n  \
           vars:\n    \
             trimtab_undo: false\n  \
           tasks:\n    \
             - name: Tell what a plan would change\n      \
               ansible.builtin.command:\n        \
                 argv:\n\
         {}{node}      \
               register: trimtab_plan\n      \
               check_mode: false\n      \
               changed_when: not trimtab_plan.stdout.startswith('Nothing to change')\n      \
               when: ansible_check_mode and not (trimtab_undo | bool)\n\n    \
             - name: Write the plan\n      \
               ansible.builtin.command:\n        \
                 argv:\n\
         {}{node}      \
               register: trimtab_plan\n      \
               changed_when: not trimtab_plan.stdout.startswith('Nothing to change')\n      \
               when: not ansible_check_mode and not (trimtab_undo | bool)\n\n    \
             - name: Take the plan back\n      \
               ansible.builtin.command:\n        \
                 argv:\n          \
                   - trimtab\n          \
                   - plan\n          \
                   - --undo\n{}      \
               register: trimtab_plan\n      \
               changed_when: not trimtab_plan.stdout.startswith('There is no plan')\n      \
               when: trimtab_undo | bool\n",
        nodes.zone,
        argv(&["trimtab", "plan"]),
        argv(&["trimtab", "plan", "--apply"]),
        root_of(words)
            .map(|root| format!("          - --root\n          - !unsafe {}\n", quoted(root)))
            .unwrap_or_default(),
    )
}

fn root_of(words: &[String]) -> Option<&String> {
    let at = words.iter().position(|word| word == "--root")?;
    words.get(at + 1)
}
