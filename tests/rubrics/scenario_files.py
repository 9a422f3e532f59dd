"""Scenario files of our own, of both dialects and ours, for tests."""

from __future__ import annotations

DIALECT_A = """\
globals:
  recursion_limit: 7
models:
  talker: {type: openai, api_key: <KEY>, api_base: <BASE>, model: alpha-1, kargs: {temperature: 0}}
  grader: {type: openai, api_key: <KEY>, api_base: <BASE>, model: beta-1}
agents:
  tutor:
    model: talker
    prompt:
      - {role: system, content: "Teach {pupil} about {topic}. Reply as {\\"say\\": \\"...\\"}."}
    memory: {enable: true, keep_turns: 2}
  pupil:
    model: talker
    prompt:
      - {role: system, content: "You are {pupil}."}
directions:
  - START -> tutor
  - tutor -> router:any_keyword_route(keywords=["goodbye"], exists_to=END, else_to="pupil")
  - pupil -> tutor
tasks:
  mode: union
  start_prompt: {role: user, content: "Today: {topic}"}
  content:
    pupil: [Ada, Bo]
    topic: [halves, thirds]
evaluation:
  name: demo
  model: grader
  prompt:
    - {role: system, content: "Score from 1 to 5."}
    - {role: user, content: "Topic {task.topic}\\n{messages.as_dialog()}"}
  format:
    - {field: clarity, type: int, description: Is it clear?, max: 5}
  format_mode: prompt
"""

DIALECT_B = """\
globals: {recursion_limit: 4, output_dir: out}
models:
  talker: {type: openai, api_key: <KEY>, base_url: <BASE>, model: alpha-1}
agents:
  tutor:
    model: talker
    system_prompt: ["Teach {topic}.", "Be brief."]
  pupil: {model: talker, system_prompt: "You like {topic}."}
directions:
  - START -> tutor
  - tutor -> router:any_keyword_router(keywords=["goodbye"], exists_to=END, else_to=pupil)
  - pupil -> tutor
tasks:
  mode: iter
  start_prompt: "Today: {topic}"
  content:
    - topic: halves
evaluation:
  name: demo
  judge_model: talker
  target: tutor
  fields:
    - {name: clarity, rubric: Is it clear?, reason: true}
"""

OURS = """\
magister: 1
name: halves
language: en
candidate: tutor
limits: {max_turns: 6, max_tokens: 64}
agents:
  tutor:
    prompt: "Teach {topic}."
    memory: {keep_turns: 1}
    sampling: {temperature: 0.5, top_k: 3}
  pupil:
    prompt:
      - {role: system, content: "You like {topic}."}
directions:
  - START -> tutor
  - >-
    tutor -> router:gate(any_keyword(["Goodbye"]) and not turn_limit(2), then=END, otherwise="pupil")
  - pupil -> tutor
tasks:
  mode: iter
  start_prompt: "Today: {topic}"
  held_out: [2]
  content:
    - {topic: halves, answer: "1/2"}
    - {topic: thirds, answer: "1/3"}
evaluation:
  dimensions:
    - {name: pedagogy, weight: 0.6, description: How it teaches.}
    - {name: values, weight: 0.4, description: What it stands for.}
  fields:
    - name: steps
      dimension: pedagogy
      weight: 1
      type: int
      range: [1, 5]
      description: Small steps.
      anchors: {1: none, 5: all}
    - {name: respect, dimension: values, type: int, range: [1, 5], description: Kind.}
  vetoes:
    - {name: tells, kind: answer_leak, agent: tutor, variable: answer}
    - {name: plays_both, kind: role_leak, keywords: ["Pupil:"]}
"""
